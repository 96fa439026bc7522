"""Refusals: each has a code, a status and a message that names the field.

Any code raises them; `config.api` makes the answer.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class ErrorCode(StrEnum):
    """All error codes of the API (docs/spec.md: Errors)."""

    BAD_REQUEST = "BAD_REQUEST"
    UNAUTHORIZED = "UNAUTHORIZED"
    INVALID_CODE = "INVALID_CODE"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    RATE_LIMITED = "RATE_LIMITED"
    INTERNAL = "INTERNAL"


class ServiceError(Exception):
    """A refusal or failure that the caller may see. `message` is for people and never contains a secret.

    An error whose message is always the same has it in its class.
    """

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    status: ClassVar[int] = 500
    message: str = ""

    def __init__(self, message: str = "", *, headers: dict[str, str] | None = None) -> None:
        self.message = message or self.message
        super().__init__(self.message)
        self.headers = headers or {}


class BadRequest(ServiceError):
    code = ErrorCode.BAD_REQUEST
    status = 400


class Unprocessable(BadRequest):
    """The same Idempotency-Key came with a different body."""

    status = 422


class Unauthorized(ServiceError):
    code = ErrorCode.UNAUTHORIZED
    status = 401


class InvalidCode(Unauthorized):
    """The sign-in code is still valid, but the digits are wrong."""

    code = ErrorCode.INVALID_CODE


class Forbidden(ServiceError):
    code = ErrorCode.FORBIDDEN
    status = 403


class NotFound(ServiceError):
    code = ErrorCode.NOT_FOUND
    status = 404


class Conflict(ServiceError):
    code = ErrorCode.CONFLICT
    status = 409


class PreconditionFailed(Conflict):
    """The thing is not what `If-Match` expects."""

    status = 412


class RateLimited(ServiceError):
    """`retry_after` is in seconds."""

    code = ErrorCode.RATE_LIMITED
    status = 429

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after)})


class Unavailable(ServiceError):
    """Something that this call needs is down or busy; `retry_after` is in seconds."""

    code = ErrorCode.INTERNAL
    status = 503

    def __init__(self, message: str = "", *, retry_after: int = 5) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after)})
