"""The events of a streamed turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentpods._wire.sse import ServerEvent
from agentpods.errors import ServerError


@dataclass(frozen=True, slots=True)
class ChatDelta:
    """The next piece of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatPart:
    """A file, a link or data that the agent gives beside its words. Treat it as a stranger's."""

    part: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatDone:
    """The whole reply, and the conversation to go on with."""

    reply: str
    session_id: str


ChatEvent = ChatDelta | ChatPart | ChatDone


def chat_event(event: ServerEvent) -> ChatEvent | None:
    """The event of the turn, or None for one that this version does not know. Raises ServerError if the turn failed."""
    data = event.data
    match event.name:
        case "delta":
            return ChatDelta(str(data.get("text", "")))
        case "part":
            return ChatPart(data)
        case "done":
            return ChatDone(str(data.get("reply", "")), str(data.get("sessionId", "")))
        case "error":
            message = str(data.get("message", "the turn failed"))
            raise ServerError(message[:2_000], status=503, error=str(data.get("error", "INTERNAL"))[:80])
    return None
