"""Finds the values of a few top-level names in a JSON object that streams by, and reads nothing else of it.
A body may have 32 MiB and is never held in memory as a whole. The provider's parser must find the same names and
values. So everything that parsers read differently is refused: a wanted name that comes twice, encodings other than
UTF-8, comments, single quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Generator
from typing import Any

MOST_NAMES = 200
NAME_BYTES = 256
VALUE_BYTES = 64 * 1024
# Each bracket costs about a microsecond. A conversation of a million tokens has a tenth of this number.
MOST_BRACKETS = 2_000_000

_BLANK = re.compile(rb"[ \t\r\n]*+")
_SCALAR = re.compile(rb"[0-9A-Za-z.+-]*+")
# The inside of a string, up to its end or to the end of the piece.
_STRING = rb'(?:[^"\\\x00-\x1f]++|\\[^\x00-\x1f])*+'
_INSIDE = re.compile(_STRING)
# The next bracket of a nested value. It also finds what must not be there: a string that is cut off, or text that is
# not JSON.
_BRACKET = re.compile(rb'(?:[ \t\r\n,:0-9A-Za-z.+-]++|"' + _STRING + rb'")*+(?:([{\[])|([}\]])|(.)|\Z)', re.DOTALL)
_OPENS, _CLOSES = 1, 2

_Reading = Generator[None, None, None]  # stops at the end of a piece and continues with the next piece


class OutlineError(ValueError):
    """The body is not a JSON object, or parsers would read it differently. The text is shown to people."""


class Outline:
    def __init__(self, wanted: Collection[str], *, inside: Collection[str] = ()) -> None:
        """`inside` names objects whose own names are read too, as if they stood at the top."""
        self._wanted = wanted
        self._entered = inside
        self._values: dict[str, Any] = {}
        self._piece = b""
        self._at = 0
        self._kept: bytearray | None = None
        self._room = 0
        self._complete = False
        self._brackets = 0
        self._reading = self._object()

    def feed(self, piece: bytes) -> None:
        """Read the next piece. Raises OutlineError as soon as the body is certainly wrong."""
        self._piece, self._at = piece, 0
        next(self._reading)

    def finish(self) -> dict[str, Any]:
        """The values of those wanted names that were in the object. Raises OutlineError if the object is
        not complete.
        """
        if not self._complete:
            raise OutlineError("body: not valid JSON")
        return self._values

    def _object(self) -> _Reading:
        yield from self._blank()
        if self._byte() != b"{":
            raise OutlineError("body: must be a JSON object")
        yield from self._inner()
        self._complete = True
        while True:
            yield from self._blank()
            raise OutlineError("body: not valid JSON")

    def _members(self) -> _Reading:
        for _ in range(MOST_NAMES):
            name = yield from self._keeping(self._string(), NAME_BYTES)
            yield from self._blank()
            yield from self._pass(b":")
            folded = name.casefold()  # some servers treat `Model` and `model` as the same name
            if folded in self._values:
                raise OutlineError(f"body: {folded} comes twice")
            if folded in self._wanted:
                self._values[folded] = yield from self._keeping(self._value(), VALUE_BYTES)
            elif folded in self._entered and self._byte() == b"{":
                self._entered = ()  # not again, so that no depth of objects costs memory
                yield from self._inner()
            else:
                yield from self._value()
            yield from self._blank()
            if self._byte() == b"}":
                return
            yield from self._pass(b",")
        raise OutlineError(f"body: at most {MOST_NAMES} names")

    def _inner(self) -> _Reading:
        """An object, bracket by bracket."""
        yield from self._pass(b"{")
        if self._byte() != b"}":
            yield from self._members()
        yield from self._pass(b"}")

    def _keeping(self, reading: _Reading, room: int) -> Generator[None, None, Any]:
        """The value that `reading` passes over."""
        self._kept, self._room = bytearray(), room
        yield from reading
        raw, self._kept = self._kept, None
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise OutlineError("body: not valid JSON") from error

    def _value(self) -> _Reading:
        first = self._byte()
        if first == b'"':
            yield from self._string()
        elif first in {b"{", b"["}:
            yield from self._nested()
        else:
            yield from self._scalar()

    def _nested(self) -> _Reading:
        """Without recursion, because a body may have any depth."""
        depth = 0
        while True:
            depth, end = self._to_the_end(depth)
            self._advance(end)
            if not depth:
                return
            if self._byte():
                yield from self._string()
            yield from self._more()

    def _to_the_end(self, depth: int) -> tuple[int, int]:
        """Read brackets up to the end of the value, the end of the piece, or a string that the piece cuts off. Returns
        the depth and the position there.
        """
        for found in _BRACKET.finditer(self._piece, self._at):
            kind = found.lastindex
            if kind == _OPENS:
                depth += 1
            elif kind == _CLOSES:
                depth -= 1
                if not depth:
                    return depth, found.end()
            elif found[3] == b'"':
                return depth, found.end() - 1
            elif kind:
                raise OutlineError("body: not valid JSON")
            self._brackets += 1
            if self._brackets > MOST_BRACKETS:
                raise OutlineError(f"body: at most {MOST_BRACKETS} objects and lists")
        return depth, len(self._piece)

    def _scalar(self) -> _Reading:
        read = 0
        while True:
            end = _end(_SCALAR, self._piece, self._at)
            read += end - self._at
            self._advance(end)
            if self._byte():
                break
            yield
        if not read:
            raise OutlineError("body: not valid JSON")

    def _string(self) -> _Reading:
        if self._byte() != b'"':
            raise OutlineError("body: not valid JSON")
        self._advance(self._at + 1)
        while True:
            yield from self._more()
            self._advance(_end(_INSIDE, self._piece, self._at))
            byte = self._byte()
            if byte == b'"':
                break
            if byte == b"\\":
                yield from self._escape()
            elif byte:
                raise OutlineError("body: not valid JSON")
        self._advance(self._at + 1)

    def _escape(self) -> _Reading:
        """The backslash at the end of a piece: the escaped character is the first of the next piece."""
        self._advance(self._at + 1)
        yield from self._more()
        if self._byte() < b" ":
            raise OutlineError("body: not valid JSON")
        self._advance(self._at + 1)

    def _blank(self) -> _Reading:
        """Move to the next byte that is not white space."""
        while True:
            self._advance(_end(_BLANK, self._piece, self._at))
            if self._byte():
                return
            yield

    def _pass(self, wanted: bytes) -> _Reading:
        """Move past this byte, then to the next byte that is not white space."""
        if self._byte() != wanted:
            raise OutlineError("body: not valid JSON")
        self._advance(self._at + 1)
        if wanted != b"}":
            yield from self._blank()

    def _more(self) -> _Reading:
        """Wait for the next piece if this one is at its end."""
        while not self._byte():
            yield

    def _byte(self) -> bytes:
        """The byte at the current position; empty at the end of the piece."""
        return self._piece[self._at : self._at + 1]

    def _advance(self, end: int) -> None:
        if self._kept is not None:
            self._kept += self._piece[self._at : min(end, self._at + self._room + 1)]
            if len(self._kept) > self._room:
                raise OutlineError(f"body: a name or the model has more than {self._room} bytes")
        self._at = end


def _end(pattern: re.Pattern[bytes], piece: bytes, at: int) -> int:
    found = pattern.match(piece, at)
    return found.end() if found else at
