"""Finds the tokens in a vendor's answer while it passes. Nothing is held back, and little of it is held in memory.

Only a name at its own place counts: a model can write any text, and arguments of a tool may contain a `usage` too.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from agents.pod.gateway.llm.outline import Outline, OutlineError
from agents.pod.gateway.spending import tokens
from agents.pod.gateway.spending.tokens import ModelProtocol, Tokens

# A longer line is read while it passes, without being held.
LINE_BYTES = 64 * 1024
_NAMES = ("usage", "usagemetadata")  # names are compared without regard to case
_INSIDE = ("response", "message")
# The texts in a line of a stream, for an estimate.
_TEXT = re.compile(
    rb'"(?:content|text|delta|arguments|partial_json|thinking|reasoning|reasoning_content)"\s*+:\s*+'
    rb'"((?:[^"\\]++|\\.)*+)"'
)
# These events of `responses` repeat a text that came before.
_REPEATS = re.compile(rb'\.done"|response\.(?:completed|incomplete)"')


class AnswerReader:
    def __init__(self, protocol: ModelProtocol, *, is_stream: bool) -> None:
        self.text_bytes = 0
        self._protocol = protocol
        self._is_stream = is_stream
        self._found: Tokens | None = None
        self._is_whole = False
        self._line = bytearray()
        self._is_long = not is_stream
        self._outline: Outline | None = None if is_stream else Outline(_NAMES)  # None: the text is not JSON

    @property
    def found(self) -> Tokens | None:
        """What the vendor has told so far."""
        return self._found

    @property
    def is_whole(self) -> bool:
        """Whether the vendor has told all of it."""
        return self._is_whole

    def feed(self, piece: bytes) -> None:
        if self._is_stream:
            self._feed_lines(piece)
        else:
            self.text_bytes += len(piece)
            self._feed_long(piece)

    def finish(self) -> None:
        """The answer is complete."""
        if self._is_stream:
            self._feed_lines(b"\n")
        else:
            self._end_long()

    def _feed_lines(self, piece: bytes) -> None:
        *ends, begins = piece.split(b"\n")
        for end in ends:
            self._add(end)
            self._end_line()
        self._add(begins)

    def _add(self, part: bytes) -> None:
        if self._is_long:
            self._feed_long(part)
            return
        self._line += part
        if len(self._line) > LINE_BYTES:
            start = bytes(self._line)
            self._is_long = True
            self._outline = Outline(_NAMES, inside=_INSIDE) if start.startswith(b"data:") else None
            self._feed_long(start[5:])
            self._line.clear()

    def _end_line(self) -> None:
        if self._is_long:
            self._end_long()
        elif self._line.startswith(b"data:"):
            self._event(bytes(self._line[5:]))
        self._line.clear()

    def _event(self, line: bytes) -> None:
        if not self._is_whole and not _REPEATS.search(line, 0, 200):
            self.text_bytes += sum(len(text[1]) for text in _TEXT.finditer(line))
        if b'"usage' not in line:
            return
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(event, dict):
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        match self._protocol:
            case ModelProtocol.GOOGLE:
                self._tell(event.get("usageMetadata"), is_whole=_ends(event))
            case ModelProtocol.MESSAGES:
                self._tell(_inside(event, "message").get("usage"), is_whole=False)
                self._tell(event.get("usage"), is_whole=True)
            case ModelProtocol.RESPONSES:
                self._tell(_inside(event, "response").get("usage"), is_whole=True)
            case ModelProtocol.CHAT:
                self._tell(event.get("usage") or _inside(event, "x_groq").get("usage"), is_whole=True)

    def _tell(self, usage: object, *, is_whole: bool) -> None:
        told = tokens.read(usage, self._protocol)
        if told is None:
            return
        before = self._found
        if self._protocol is ModelProtocol.MESSAGES and before and told.input < before.input:
            # The last event of a stream tells the answer's tokens alone.
            told = replace(before, output=told.output)
        self._found = told
        self._is_whole = self._is_whole or is_whole

    def _feed_long(self, piece: bytes) -> None:
        if self._outline is None:
            return
        try:
            self._outline.feed(piece)
        except OutlineError:
            self._outline = None

    def _end_long(self) -> None:
        outline, self._outline, self._is_long = self._outline, None, False
        if outline is None:
            return
        try:
            values = outline.finish()
        except OutlineError:
            return
        self._tell(values.get("usagemetadata") or values.get("usage"), is_whole=True)


def _ends(event: dict[str, Any]) -> bool:
    """Whether this is the last part of Google's answer."""
    candidates = event.get("candidates")
    return isinstance(candidates, list) and any(isinstance(one, dict) and "finishReason" in one for one in candidates)


def _inside(event: dict[str, Any], name: str) -> dict[str, Any]:
    found = event.get(name)
    return found if isinstance(found, dict) else {}
