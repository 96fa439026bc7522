"""Makes whole copies of an agent's SQLite databases. A database that is being written to cannot be copied as a file.
The agent writes these files, so they are not trusted: no link is followed, and bytes, files and time are limited.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

SUFFIXES = (".db", ".db3", ".sqlite", ".sqlite3")
BESIDE = ("", "-wal", "-shm", "-journal")  # name endings of the files that belong to one database
MOST_DATABASES = 500
MOST_ENTRIES = 2_000_000
COPY_SECONDS = 300.0
BUSY_SECONDS = 10.0  # if a database stays locked for this time, it is copied as a file
_MAGIC = b"SQLite format 3\0"


class TooMuch(Exception):
    """There is more data than an agent of this size may have. The message is shown to people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDatabases:
    """`databases` are paths below the data directory."""

    databases: list[Path]
    bytes: int


def look(data: Path, *, own: str, most_bytes: int) -> FoundDatabases:
    """Find databases and count bytes of all files except `own`. Raises TooMuch, also because a file may claim to be
    larger than any disk.
    """
    databases: list[Path] = []
    total, entries = 0, 0
    for path, status in _walk(data, skip=own):
        entries, total = entries + 1, total + (status.st_size if stat.S_ISREG(status.st_mode) else 0)
        if total > most_bytes or entries > MOST_ENTRIES:
            raise TooMuch(f"its files claim more than {most_bytes} bytes, or are more than {MOST_ENTRIES}")
        if len(databases) < MOST_DATABASES and _is_database(path, status):
            databases.append(path.relative_to(data))
    return FoundDatabases(databases=databases, bytes=total)


def copy(source: Path, target: Path) -> bool:
    """Make a whole copy of a database that may be in use. Returns False, and leaves no copy, if the database is broken
    or locked.
    Raises OSError when there is no room.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        _copy(source, target)
    except (sqlite3.Error, TimeoutError) as error:
        target.unlink(missing_ok=True)
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            raise OSError(28, "no room for the copies of its databases") from error
        return False
    return True


def _copy(source: Path, target: Path) -> None:
    guard = _Guard()
    reading = sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True, timeout=1.0)
    try:
        writing = sqlite3.connect(target, timeout=1.0)
        try:
            writing.execute("PRAGMA journal_mode=OFF")
            writing.execute("PRAGMA synchronous=OFF")
            reading.backup(writing, pages=4096, progress=guard.look, sleep=0.1)
        finally:
            writing.close()
    finally:
        reading.close()
    target.chmod(0o600)


class _Guard:
    """Limits the time of one copy. A copy waits for a locked database, and begins again when its pages change."""

    def __init__(self) -> None:
        self._until = time.monotonic() + COPY_SECONDS
        self._left = -1
        self._since = time.monotonic()

    def look(self, _status: int, left: int, _total: int) -> None:
        now = time.monotonic()
        if left != self._left:
            self._left, self._since = left, now
        if now > self._until or now - self._since > BUSY_SECONDS:
            raise TimeoutError


def _is_database(path: Path, status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode) or path.suffix not in SUFFIXES or not status.st_size:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and file.read(len(_MAGIC)) == _MAGIC


def _walk(directory: Path, *, skip: str) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything below the directory. Links are not followed. No recursion, because a tree may be very deep."""
    waiting = [str(directory)]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                if entry.path == f"{directory}/{skip}":
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                yield Path(entry.path), status
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
