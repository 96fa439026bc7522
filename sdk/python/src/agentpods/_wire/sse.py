"""Reads server-sent events from bytes, however they are cut into pieces."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import Any

from agentpods._wire.call import refuse_constant
from agentpods.errors import UnexpectedAnswerError

DONE = "[DONE]"  # ends a stream of OpenAI's protocol, and is no JSON
MAX_EVENT_CHARACTERS = 16 * 1024 * 1024  # parts of an answer may have 2 MiB, as base64 in JSON
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream: its name, its JSON object, and the id to go on from."""

    name: str
    data: dict[str, Any]
    id: str | None = None


class StreamReader:
    """`feed` takes the next bytes and returns the events that they complete.

    Lines end as the standard says, so a line separator of Unicode inside of a text ends no line.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._after_return = False  # the last piece ended with a carriage return, so a line feed may belong to it
        self._line: list[str] = []
        self._data: list[str] = []
        self._name = ""
        self._id: str | None = None
        self._length = 0

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Raises UnexpectedAnswerError for an event that is too large or whose data is no JSON object."""
        text = self._decode(piece)
        if not text:
            return []
        if self._after_return:
            text = text.removeprefix("\n")
        self._after_return = text.endswith("\r")
        self._length += len(text)
        first, *more = _LINE_END.split(text)
        self._line.append(first)
        events = [event for line in more if (event := self._next_line(line))]
        if self._length > MAX_EVENT_CHARACTERS:
            raise UnexpectedAnswerError(f"an event of the stream has more than {MAX_EVENT_CHARACTERS} characters")
        return events

    def _next_line(self, begun: str) -> ServerEvent | None:
        """End the present line, and begin another one with this text."""
        line, self._line = "".join(self._line), [begun]
        if not line:
            self._length = len(begun)
            return self._ended()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _ended(self) -> ServerEvent | None:
        name, data = self._name or "message", "\n".join(self._data)
        self._name, self._data = "", []
        if data in {"", DONE}:
            return None
        try:
            told = json.loads(data, parse_constant=refuse_constant)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise UnexpectedAnswerError(f"the event `{name[:40]}` of the stream has no JSON object")
        return ServerEvent(name, told, self._id)
