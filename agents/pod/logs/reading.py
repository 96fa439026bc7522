"""Reads a log by offsets. An offset counts bytes since the log began, so it stays valid when the oldest lines are
removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from agents.pod.logs.lines import LogLine, LogSource, begins, decoded

PAGE_BYTES = 512 * 1024  # bytes of encoded lines; a page has at least one line


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines that follow each other. `load` returns nothing if they were removed in the meantime."""

    base: int  # offset of the first byte
    size: int
    load: Callable[[], bytes] = field(repr=False)

    @property
    def end(self) -> int:
        return self.base + self.size


@dataclass(frozen=True, slots=True)
class Left:
    """The part of one life of a log that still exists."""

    life: str
    chunks: list[Chunk]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesPage:
    """Some lines, each with the offset after it. The next page starts at `next`.
    `gap`: the wanted lines no longer exist, or never existed; the page starts at the first line that exists.
    """

    life: str
    lines: list[tuple[int, LogLine]]
    next: int
    end: int
    gap: bool = False


def read(
    life: str,
    chunks: Sequence[Chunk],
    *,
    after: int | None,
    limit: int,
    source: LogSource | None = None,
    most_bytes: int = PAGE_BYTES,
) -> LinesPage:
    """The lines after an offset, oldest first. Without an offset, the newest lines in the same order."""
    start, end = (chunks[0].base, chunks[-1].end) if chunks else (0, 0)
    if after is None:
        return LinesPage(life=life, lines=_newest(chunks, limit, source, most_bytes), next=end, end=end)
    begin = min(max(after, start), end)
    lines, following = _from(chunks, begin, limit, source, most_bytes)
    return LinesPage(life=life, lines=lines, next=following, end=end, gap=begin != after)


def _from(
    chunks: Sequence[Chunk], begin: int, limit: int, source: LogSource | None, most_bytes: int
) -> tuple[list[tuple[int, LogLine]], int]:
    found: list[tuple[int, LogLine]] = []
    size, following = 0, begin
    for chunk in chunks:
        if chunk.end <= begin:
            continue
        for end, raw in _lines(chunk, begin):
            if _is_wanted(raw, source) and (line := decoded(raw)):
                if len(found) >= limit or (found and size + len(raw) > most_bytes):
                    return found, following
                found.append((end, line))
                size += len(raw)
            following = end
        following = max(following, chunk.end)
    return found, following


def _newest(
    chunks: Sequence[Chunk], limit: int, source: LogSource | None, most_bytes: int
) -> list[tuple[int, LogLine]]:
    found: list[tuple[int, LogLine]] = []
    size = 0
    for chunk in reversed(chunks):
        for end, raw in reversed(list(_lines(chunk, chunk.base))):
            if _is_wanted(raw, source) and (line := decoded(raw)):
                if len(found) >= limit or (found and size + len(raw) > most_bytes):
                    return found[::-1]
                found.append((end, line))
                size += len(raw)
    return found[::-1]


def _lines(chunk: Chunk, begin: int) -> Iterator[tuple[int, bytes]]:
    """Each line from this offset, with the offset after it. An offset inside a line means the line after it."""
    raw = chunk.load()[: chunk.size]
    at = max(begin - chunk.base, 0)
    if at and raw[at - 1 : at] != b"\n":
        at = raw.find(b"\n", at) + 1 or len(raw)
    while at < len(raw):
        end = raw.find(b"\n", at) + 1 or len(raw)
        yield chunk.base + end, raw[at:end]
        at = end


def _is_wanted(raw: bytes, source: LogSource | None) -> bool:
    return source is None or raw.startswith(begins(source))
