"""Finds a secret in a text, in any mix of three spellings of its characters.

All readings of the text are followed at once: bit `i` of a set stands for a reading that is at character `i` of the
secret. So the time grows as the text's length, however often text and secret repeat themselves, and however many
readings a text has, such as a row of backslashes.
"""

from __future__ import annotations

import functools
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator

HEAD = 4  # number of characters for a quick search: a text without them does not contain the secret
# Escapes accept both cases of their hexadecimal digits; the letter `u` of an escape stays lower case.
_LOWER_DIGITS = bytes.maketrans(b"ABCDEF", b"abcdef")
_ESCAPE_BYTES = 3  # the shortest escape with such digits

_Table = dict[bytes, int]  # spellings or beginnings of them, and the characters of the secret that have them


class SpelledSecret:
    def __init__(self, secret: str) -> None:
        self.size = len(secret)
        self._head = re.compile(b"".join(map(_regex, secret[:HEAD])))
        self._secret = secret

    def occurrences(self, text: bytes, size: int) -> Iterator[tuple[int, int]]:
        """Where the first `size` characters of the secret begin, and where they and what follows of the secret end. The
        leftmost come first, and none overlap. If `size` is the secret's, each end is that of the whole secret.
        """
        found = self._head.search(text)
        low = text.translate(_LOWER_DIGITS) if found else b""
        while found:
            begin = done = found.start()
            has_one, end = self._followed(text, low, begin, size)
            for start in self._starts(text, low, begin, end, size) if has_one else ():
                if start >= done:
                    whole, furthest = self._read(text, low, start)
                    done = whole if size == self.size else furthest
                    yield start, done
            found = self._head.search(text, max(done, end))

    def cut_at(self, text: bytes, least: int) -> int | None:
        """The leftmost place from which the text ends inside the secret, after at least `least` characters of it."""
        skipped = max(0, len(text) - self._longest * self.size)
        text = text[skipped:]
        low, place, enough = text.translate(_LOWER_DIGITS), None, -1 << least
        after = deque([(1 << self.size) - 1 & enough], maxlen=self._longest)
        for at in range(len(text) - 1, -1, -1):
            readings = self._before(text, low, at, after) | self._cut(low, at) & enough
            if readings & 1:
                place = skipped + at
            after.appendleft(readings)
            if not any(after):
                break
        return place

    def _followed(self, text: bytes, low: bytes, begin: int, size: int) -> tuple[bool, int]:
        """Follow all readings that begin here or while others are followed. Returns whether one of them came to `size`
        characters, and where they ended.
        """
        last, has_one, at = 1 << size, False, begin
        ahead: dict[int, int] = {begin: 0}
        while ahead and at < len(text):
            readings = ahead.pop(at, 0) | 1
            has_one = has_one or readings & last > 0
            self._go_on(text, low, at, readings & (last - 1), ahead)
            at += 1
        return has_one or any(readings & last for readings in ahead.values()), at

    def _starts(self, text: bytes, low: bytes, begin: int, end: int, size: int) -> list[int]:
        """All places in this part of the text where `size` characters of the secret begin."""
        last, starts = 1 << size, []
        after = deque([last] * self._longest, maxlen=self._longest)
        for at in range(end - 1, begin - 1, -1):
            readings = self._before(text, low, at, after)
            if readings & 1:
                starts.append(at)
            after.appendleft(readings | last)
        return starts[::-1]

    def _read(self, text: bytes, low: bytes, start: int) -> tuple[int, int]:
        """Where the whole secret that begins here ends, and the furthest place that a reading comes to."""
        whole = furthest = at = start
        ahead: dict[int, int] = {start: 1}
        while ahead and at < len(text):
            if readings := ahead.pop(at, 0):
                furthest = len(text) if self._cut(low, at) & readings else max(furthest, at)
                whole = at if readings >> self.size else whole
                self._go_on(text, low, at, readings, ahead)
            at += 1
        if readings := ahead.get(len(text), 0):
            furthest, whole = len(text), len(text) if readings >> self.size else whole
        return whole, furthest

    def _go_on(self, text: bytes, low: bytes, at: int, readings: int, ahead: dict[int, int]) -> None:
        """Follow these readings over one character."""
        for length, table in self._tables.get(text[at], ()):
            spelled = (low if length >= _ESCAPE_BYTES else text)[at : at + length]
            if gone := (table.get(spelled, 0) & readings) << 1:
                ahead[at + length] = ahead.get(at + length, 0) | gone

    def _before(self, text: bytes, low: bytes, at: int, after: deque[int]) -> int:
        """The readings that are here if those of the next places are `after`."""
        readings = 0
        for length, table in self._tables.get(text[at], ()):
            if length <= len(after) and (there := after[length - 1]):
                spelled = (low if length >= _ESCAPE_BYTES else text)[at : at + length]
                readings |= there >> 1 & table.get(spelled, 0)
        return readings

    def _cut(self, low: bytes, at: int) -> int:
        """The characters of the secret inside of which the text may end, if they begin here."""
        return self._begun.get(low[at:], 0) if len(low) - at < self._longest else 0

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        """Of each character, where the secret has it."""
        places: dict[str, int] = defaultdict(int)
        for index, character in enumerate(self._secret):
            places[character] |= 1 << index
        return places

    @functools.cached_property
    def _tables(self) -> dict[int, list[tuple[int, _Table]]]:
        """The spellings by their first byte and their length."""
        tables: dict[int, dict[int, _Table]] = defaultdict(lambda: defaultdict(dict))
        for character, places in self._places.items():
            for spelling in spellings(character):
                table = tables[spelling[0]][len(spelling)]
                table[spelling] = table.get(spelling, 0) | places
        return {first: list(by_length.items()) for first, by_length in tables.items()}

    @functools.cached_property
    def _begun(self) -> _Table:
        """What a text can end with if it stops inside a character."""
        begun: _Table = {}
        for character, places in self._places.items():
            for part in {spelling[:size] for spelling in spellings(character) for size in range(1, len(spelling))}:
                begun[part] = begun.get(part, 0) | places
        return begun

    @functools.cached_property
    def _longest(self) -> int:
        return max(length for by_length in self._tables.values() for length, _ in by_length)


@functools.lru_cache(maxsize=1024)
def spellings(character: str) -> frozenset[bytes]:
    """The spellings of a character, with hexadecimal digits in lower case."""
    raw = character.encode("utf-8", "surrogatepass")
    escaped = f"\\u{ord(character):04x}"
    encoded = "".join(f"%{byte:02x}" for byte in raw)
    # two escapes for a character beyond U+FFFF; some programs escape a slash too
    in_json = json.dumps(character)[1:-1].replace("/", "\\/")
    return frozenset([raw, escaped.encode(), encoded.encode(), in_json.encode()])


@functools.lru_cache(maxsize=1024)
def _regex(character: str) -> bytes:
    return b"(?:" + b"|".join(map(_either_case, sorted(spellings(character)))) + b")"


def _either_case(spelling: bytes) -> bytes:
    if len(spelling) < _ESCAPE_BYTES:
        return re.escape(spelling)
    both = (b"[%c%c]" % (byte, byte - 32) if byte in b"abcdef" else re.escape(bytes([byte])) for byte in spelling)
    return b"".join(both)
