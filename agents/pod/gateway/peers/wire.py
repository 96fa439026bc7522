"""The two dialects of A2A for outgoing calls: building a message, and reading a peer's answer."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

from agents.pod.gateway.a2a.reading import HOPS, KEYS
from agents.pod.gateway.peers.dialling import PeerFailure

REPLY_CHARACTERS = 32_000
NAME_CHARACTERS = 256
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    version: str
    send: str
    get: str
    role: str
    waits: Json  # asks the peer to send the answer, and not only the task
    tagged: bool  # whether objects have a `kind`

    def message(self, text: str, *, hops: int, conversation: str | None, marks: list[str]) -> Json:
        """The parameters of a call that sends a message. `marks` are those of the API keys whose turns ask."""
        part: Json = {"kind": "text", "text": text} if self.tagged else {"text": text}
        metadata = {HOPS: hops, **({KEYS: marks} if marks else {})}
        message: Json = {"messageId": str(uuid.uuid4()), "role": self.role, "parts": [part], "metadata": metadata}
        if self.tagged:
            message["kind"] = "message"
        if conversation:
            message["contextId"] = conversation
        return {"message": message, "configuration": self.waits}


WIRES = (
    Wire(
        version="1.0",
        send="SendMessage",
        get="GetTask",
        role="ROLE_USER",
        waits={"returnImmediately": False},
        tagged=False,
    ),
    Wire(version="0.3", send="message/send", get="tasks/get", role="user", waits={"blocking": True}, tagged=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerAnswer:
    """The peer's answer so far."""

    # in the spelling of 0.3, such as `completed` or `input-required`; an answer without a task is `completed`
    state: str
    reply: str
    cut: bool
    conversation: str | None
    task_id: str | None

    @property
    def goes_on(self) -> bool:
        return self.state in {"submitted", "working"}


def read(result: Any) -> PeerAnswer:
    """Read a result. Raises PeerFailure if it is neither a task nor a message."""
    if not isinstance(result, dict):
        raise PeerFailure("its answer is neither a task nor a message")
    inner = next((result[name] for name in ("task", "message") if isinstance(result.get(name), dict)), result)
    status = inner.get("status")
    if isinstance(status, dict):
        return _said(inner, _task_text(inner, status), state=_state(status), task_id=_name(inner.get("id")))
    if isinstance(inner.get("parts"), list):
        return _said(inner, _text(inner["parts"]), state="completed", task_id=None)
    raise PeerFailure("its answer is neither a task nor a message")


def _said(inner: Json, text: str, *, state: str, task_id: str | None) -> PeerAnswer:
    clean = text.encode("utf-8", "replace").decode()
    return PeerAnswer(
        state=state,
        reply=clean[:REPLY_CHARACTERS],
        cut=len(clean) > REPLY_CHARACTERS,
        conversation=_name(inner.get("contextId")),
        task_id=task_id,
    )


def _state(status: Json) -> str:
    said = str(status.get("state"))[:64]
    return said.removeprefix("TASK_STATE_").lower().replace("_", "-")


def _task_text(task: Json, status: Json) -> str:
    """The text of the artifacts; without any text there, the message of the status."""
    artifacts = task.get("artifacts")
    listed = artifacts if isinstance(artifacts, list) else []
    parts = [_text(one.get("parts")) for one in listed if isinstance(one, dict)]
    if any(parts):
        return "\n\n".join(part for part in parts if part)
    message = status.get("message")
    return _text(message.get("parts")) if isinstance(message, dict) else ""


def _text(parts: Any) -> str:
    found = [_part(part) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n".join(text for text in found if text)


def _part(part: Json) -> str:
    """A part as text: data as JSON, and of a file only a note that it exists."""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if "data" in part:
        return json.dumps(part["data"], ensure_ascii=False)
    file = part["file"] if isinstance(part.get("file"), dict) else part
    name, kind = file.get("filename") or file.get("name"), file.get("mediaType") or file.get("mimeType")
    return f"[a file: {_name(name) or 'without a name'}, {_name(kind) or 'of an unknown kind'}]"


def _name(value: Any) -> str | None:
    """The value if it is a short printable text, else None."""
    fits = isinstance(value, str) and 0 < len(value) <= NAME_CHARACTERS and value.isprintable()
    return value if fits else None
