"""The OpenAI protocol in front of an agent: each request becomes one turn of a conversation.

Clients of this protocol send the whole conversation with each call, but an agent keeps its own. So a conversation with
a name gets only its new messages, and a conversation without a name gets all messages as one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from agents.pod.turns import parts
from agents.runtimes.turns import ChatReply
from agents.talking import chat
from config.errors import BadRequest

MAX_MESSAGES = 2_000
MAX_PARTS = 100
MAX_USER_CHARACTERS = 512
_INSTRUCTIONS = ("system", "developer")
_ROLES = (*_INSTRUCTIONS, "user", "assistant")


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """One message of a conversation as its client sent it."""

    role: str
    text: str


class AskedTurn(TypedDict):
    """What `chat` is given."""

    message: str
    session_id: str | None


def text_of(said: ChatReply) -> str:
    """The reply, then a line for each part: this protocol carries only text."""
    lines = [parts.line(part) for part in said.parts]
    return "\n\n".join([said.reply, *lines]) if said.reply else "\n\n".join(lines)


def asked(messages: Sequence[Mapping[str, Any]], *, user: str | None, session_id: str | None) -> AskedTurn:
    """The turn that these messages ask for. The conversation's name is `session_id`, or else comes from `user`.

    Raises BadRequest naming the message that is wrong.
    """
    said = [_said(number, message) for number, message in enumerate(messages)]
    if not said or said[-1].role != "user":
        raise BadRequest("messages: the last one must be of the role 'user': it is what the agent answers")
    if user and not session_id:  # a hash, because the given text may be a mailbox
        session_id = f"user-{hashlib.sha256(user.encode('utf-8', 'replace')).hexdigest()[:32]}"
    session_id = session_id or None
    text = _new(said) if session_id else _whole(said)
    if not text.strip():
        raise BadRequest("messages: the last one must have text that is not blank")
    if (size := len(text.encode("utf-8", "replace"))) > chat.MAX_MESSAGE_BYTES:
        raise BadRequest(
            f"messages: {size} bytes for one turn, at most {chat.MAX_MESSAGE_BYTES}; name the conversation with 'user'"
            " or the header Session-Id, and only what is new in it counts"
        )
    return AskedTurn(message=text, session_id=session_id)


def _new(said: Sequence[ClientMessage]) -> str:
    """The messages after the agent's last answer. A client's instructions stand at the beginning, so the agent gets
    them once."""
    answers = [number for number, one in enumerate(said) if one.role == "assistant"]
    return _joined(said[answers[-1] + 1 if answers else 0 :])


def _whole(said: Sequence[ClientMessage]) -> str:
    if all(one.role != "assistant" for one in said):
        return _joined(said)
    before = [one for one in said[:-1] if one.text.strip()]
    lines = [f"[{one.role}]\n{one.text}" for one in before]
    return "\n\n".join(["The conversation so far:", *lines, "What to answer now:", said[-1].text])


def _joined(said: Sequence[ClientMessage]) -> str:
    return "\n\n".join(one.text for one in said if one.text.strip())


def _said(number: int, message: Mapping[str, Any]) -> ClientMessage:
    role = message.get("role")
    if role not in _ROLES:
        raise BadRequest(f"messages[{number}].role: must be one of {', '.join(_ROLES)}: the agent calls its own tools")
    return ClientMessage(role, _text(number, message.get("content"), is_answer=role == "assistant"))


def _text(number: int, content: Any, *, is_answer: bool) -> str:
    """The text of a message: a string, or parts that are all text. An answer may have none."""
    if isinstance(content, str):
        return content
    if content is None and is_answer:
        return ""
    name = f"messages[{number}].content"
    if not isinstance(content, list):
        raise BadRequest(f"{name}: must be a string, or an array of parts")
    if len(content) > MAX_PARTS:
        raise BadRequest(f"{name}: has {len(content)} elements; at most {MAX_PARTS}")
    return "\n".join(_part(f"{name}[{place}]", part) for place, part in enumerate(content))


def _part(name: str, part: Any) -> str:
    if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
        raise BadRequest(f"{name}: must be {{type: 'text', text}}: the agent is sent text alone")
    return str(part["text"])
