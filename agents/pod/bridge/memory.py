"""Reads what an engine has learned from its files: skills, memories, and the number of conversations.
The agent writes these files, so they are not trusted: no link is followed, only plain files are opened, and names,
bytes, depth and time are limited.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agents.engines.base import EngineError, Stores

CONTENT_BYTES = 256 * 1024  # for all memories together
MOST_NAMES = 500  # for skills, and again for memories
MOST_ENTRIES = 100_000  # files and directories that are visited in one store
DEPTH = 6
COUNT_SECONDS = 3.0
SKILL = "SKILL.md"
_STEPS = 10_000  # steps of SQLite's virtual machine between two checks of the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMemory:
    """What an engine has learned. `is_cut` says that there is more than was read."""

    skills: list[str]
    memories: list[tuple[str, str]]  # pairs of name and content
    sessions: int
    is_cut: bool

    def body(self) -> dict[str, Any]:
        """The JSON form, as sent to the gateway and as stored in a backup."""
        memories = [{"name": name, "content": content} for name, content in self.memories]
        return {"skills": self.skills, "memories": memories, "sessions": self.sessions, "is_cut": self.is_cut}


def read(stores: Stores, data: Path) -> EngineMemory:
    """What the engine has learned. Raises EngineError if its sessions cannot be counted."""
    data = data.resolve()
    skills = sorted({name for store in stores.skills for name in _skills(data / store)})
    files = sorted({found for store in stores.memories for found in _memories(data / store)})
    contents, is_cut = _contents(files[:MOST_NAMES])
    return EngineMemory(
        skills=skills[:MOST_NAMES],
        memories=contents,
        sessions=_sessions(stores, data),
        is_cut=is_cut or len(skills) > MOST_NAMES or len(files) > MOST_NAMES,
    )


def _skills(store: Path) -> Iterator[str]:
    return (_text(path.parent.name) for path in _files(store) if path.name == SKILL)


def _memories(store: Path) -> Iterator[tuple[str, Path]]:
    return ((_text(str(path.relative_to(store))), path) for path in _files(store) if path.suffix == ".md")


def _contents(files: list[tuple[str, Path]]) -> tuple[list[tuple[str, str]], bool]:
    """Each memory with its text, as far as there is room. The last line of a cut text says that it is cut."""
    found, room, is_cut = [], CONTENT_BYTES, False
    for name, path in files:
        raw, size = _beginning(path, room)
        text, room = raw.decode("utf-8", "replace"), room - len(raw)
        if len(raw) < size:
            text, is_cut = f"{raw.decode('utf-8', 'ignore')}\n[cut: {size - len(raw)} more bytes]", True
        found.append((name, text))
    return found, is_cut


def _beginning(path: Path, most: int) -> tuple[bytes, int]:
    """At most this many bytes of a plain file, and the file's size. Nothing if the path is no longer a plain file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b"", 0
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return b"", 0
        raw = file.read(most)
        return raw, max(status.st_size, len(raw))


def _sessions(stores: Stores, data: Path) -> int:
    depth = 1 if stores.count else DEPTH
    files = (path for path in _files(data / stores.sessions, depth) if fnmatch(path.name, stores.session_files))
    if not stores.count:
        return sum(1 for _ in files)
    # SQLite's log files are beside it and have longer names
    database = min(files, default=None, key=lambda path: len(path.name))
    return _count(database, stores.count) if database else 0


def _count(database: Path, statement: str) -> int:
    """Run the statement on a file that the agent can write: a statement that does not end is stopped. Raises
    EngineError, also for a broken file.
    """
    until = time.monotonic() + COUNT_SECONDS
    try:
        connection = sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True, timeout=1.0)
        try:
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            connection.execute("PRAGMA trusted_schema=OFF")
            found = connection.execute(statement).fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise EngineError(f"{database.name} cannot be read: {error}") from error
    return int(found[0])


def _files(store: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Plain files in the store and below it. A store that is reached through a link does not belong to the engine and
    is skipped.
    """
    if store.resolve() != store:
        return iter(())
    return (path for path, is_file in islice(_walk(store, depth), MOST_ENTRIES) if is_file)


def _walk(directory: Path, depth: int) -> Iterator[tuple[Path, bool]]:
    """Everything in the directory, each path with whether it is a plain file. Directories that are links are not
    entered.
    """
    try:
        entries = os.scandir(directory)
    except OSError:
        return
    with entries:
        for entry in entries:
            path = Path(entry.path)
            yield path, entry.is_file(follow_symlinks=False)
            if depth > 1 and entry.is_dir(follow_symlinks=False):
                yield from _walk(path, depth - 1)


def _text(name: str) -> str:
    """The name as text. A file name may contain any bytes."""
    return os.fsencode(name).decode("utf-8", "replace")
