"""The ring: the last 5 MB of a pod's log, in files of the gateway. Files outlive the gateway and need no memory.
The pieces are `<directory>/<life>-<offset>.log`. A life is one ring from its beginning to its end, with its own id.
Offsets continue over all pieces of a life, so a reader's offset stays valid when the oldest piece is removed.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from agents.pod.logs.lines import LogLine, LogSource
from agents.pod.logs.reading import PAGE_BYTES, Chunk, Left, LinesPage, read

PIECE_BYTES = 512 * 1024
KEPT_PIECES = 10  # in addition to the piece that is being written
DIRECTORY = "logs"
_NAME = re.compile(r"([0-9a-z]{8,24})-(\d{15})\.log")


class LogFiles:
    """Any program may read the ring, but only one may write it. If a kill cut off the last line, the next start removes
    that line.
    """

    def __init__(self, directory: Path) -> None:
        """Raises OSError if the directory cannot be written."""
        self._directory = directory
        self._lock = threading.Lock()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.life = life_in(directory) or _new_life()
        self._pieces = _pieces(directory, self.life)
        if self._pieces:
            self._mend(self._pieces[-1])
            self._pieces = _pieces(directory, self.life)

    @property
    def end(self) -> int:
        return self._pieces[-1].end if self._pieces else 0

    def append(self, lines: Sequence[LogLine]) -> None:
        """Raises OSError if there is no room for the lines."""
        raw = b"".join(line.encoded() for line in lines)
        with self._lock:
            self._rotate()
            last = self._pieces[-1]
            path = _path(self._directory, self.life, last.base)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "ab") as file:
                try:
                    file.write(raw)
                    file.flush()
                except OSError:
                    os.ftruncate(file.fileno(), last.size)
                    raise
            self._pieces[-1] = _chunk(self._directory, self.life, last.base, last.size + len(raw))

    def page(
        self, *, after: int | None, limit: int, source: LogSource | None = None, most_bytes: int = PAGE_BYTES
    ) -> LinesPage:
        with self._lock:
            pieces = list(self._pieces)
        return read(self.life, pieces, after=after, limit=limit, source=source, most_bytes=most_bytes)

    def tail(self, size: int) -> tuple[int, bytes]:
        """The last lines in their stored form, and the offset of the first."""
        with self._lock:
            pieces = list(self._pieces)
        return tail(pieces, size)

    def _rotate(self) -> None:
        if self._pieces and self._pieces[-1].size < PIECE_BYTES:
            return
        for old in self._pieces[:-KEPT_PIECES]:
            _path(self._directory, self.life, old.base).unlink(missing_ok=True)
        self._pieces = [*self._pieces[-KEPT_PIECES:], _chunk(self._directory, self.life, self.end, 0)]

    def _mend(self, last: Chunk) -> None:
        raw = last.load()
        whole = raw.rfind(b"\n") + 1
        if whole < len(raw):
            os.truncate(_path(self._directory, self.life, last.base), whole)


def life_in(directory: Path) -> str | None:
    """The life of the ring in this directory, or None. If there are several, the newest."""
    found = [match[1] for path in _files(directory) if (match := _NAME.fullmatch(path.name))]
    return max(found, default=None)


def left_in(directory: Path) -> Left | None:
    """What a program has written in this directory, whether it still runs or not; None if there is nothing."""
    life = life_in(directory)
    return Left(life, _pieces(directory, life)) if life else None


def tail(chunks: Sequence[Chunk], size: int) -> tuple[int, bytes]:
    """The last whole lines, together at most `size` bytes, and the offset of the first."""
    end = chunks[-1].end if chunks else 0
    kept = b""
    for chunk in reversed(chunks):
        kept = chunk.load()[: chunk.size] + kept
        if len(kept) >= size:
            break
    if len(kept) > size:
        cut = len(kept) - size
        at = cut if kept[cut - 1 : cut] == b"\n" else kept.find(b"\n", cut) + 1 or len(kept)
        kept = kept[at:]
    return end - len(kept), kept


def _new_life() -> str:
    """A new life id. It starts with the time, so that the lives of a pod sort by time."""
    return f"{int(time.time()):09x}{secrets.token_hex(4)}"


def _pieces(directory: Path, life: str) -> list[Chunk]:
    bases = sorted(
        int(match[2]) for path in _files(directory) if (match := _NAME.fullmatch(path.name)) and match[1] == life
    )
    found: list[Chunk] = []
    for base in bases:
        size = _size(_path(directory, life, base))
        if found and found[-1].end != base:
            found = []  # a piece between them is missing, so the older pieces cannot be used
        found.append(_chunk(directory, life, base, size))
    return found


def _files(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _path(directory: Path, life: str, base: int) -> Path:
    return directory / f"{life}-{base:015d}.log"


def _chunk(directory: Path, life: str, base: int, size: int) -> Chunk:
    return Chunk(base, size, partial(_load, _path(directory, life, base)))


def _load(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
