"""Errors that a peer gets when a call fails: the JSON-RPC codes of the protocol, with the reason that version 1.0
requires.
"""

from __future__ import annotations

from typing import Any, ClassVar


class A2aError(Exception):
    code: ClassVar[int]
    reason: ClassVar[str]

    def body(self) -> dict[str, Any]:
        info = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.reason,
            "domain": "a2a-protocol.org",
        }
        return {"code": self.code, "message": str(self), "data": [info]}


class NotJson(A2aError):
    code, reason = -32700, "JSON_PARSE"


class InvalidRequest(A2aError):
    code, reason = -32600, "INVALID_REQUEST"


class MethodNotFound(A2aError):
    code, reason = -32601, "METHOD_NOT_FOUND"


class InvalidParams(A2aError):
    code, reason = -32602, "INVALID_PARAMS"


class TaskNotFound(A2aError):
    code, reason = -32001, "TASK_NOT_FOUND"


class TaskNotCancelable(A2aError):
    code, reason = -32002, "TASK_NOT_CANCELABLE"


class NoPushNotifications(A2aError):
    code, reason = -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"


class Unsupported(A2aError):
    code, reason = -32004, "UNSUPPORTED_OPERATION"


class ContentTypeNotSupported(A2aError):
    code, reason = -32005, "CONTENT_TYPE_NOT_SUPPORTED"


class NoExtendedCard(A2aError):
    code, reason = -32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"


class VersionNotSupported(A2aError):
    code, reason = -32009, "VERSION_NOT_SUPPORTED"
