"""Checks whether an agent's data can still be used, for example after disk errors or after files were removed by
mistake.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from agents.engines.base import Stores

# The kernel's error numbers for a broken disk or file system.
BROKEN_DISK = {errno.EIO, errno.EUCLEAN, errno.EBADMSG, errno.ENXIO, errno.EREMOTEIO}
LOOK_SECONDS = 10.0
MOST_FILES = 10_000
_STEPS = 10_000  # steps of SQLite's virtual machine between two checks of the clock
_BROKEN_DATABASE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_ADVICE = (
    "the engine is not started. A rebuild restores the newest undamaged backup; without one it goes on with the data"
    " that is there"
)


def found(data: Path, stores: Stores) -> str | None:
    """A message for people if the engine's own data is damaged; None if no damage is found.
    Only the engine's data counts. A broken file in the workspace may be exactly what the agent works on.
    """
    home = PurePosixPath(stores.sessions).parts[0]
    try:
        if not (data / home).is_dir():
            return f"the engine's own directory {home!r} is gone from the agent's disk: {_ADVICE}"
        for path in _session_files(data, stores):
            with path.open("rb") as file:
                file.read(1)
    except OSError as error:
        if error.errno not in BROKEN_DISK:
            return None
        return f"the agent's disk cannot be read ({error.strerror}): {_ADVICE}"
    database = _database(data, stores)
    if database and not is_sound(database, until=time.monotonic() + LOOK_SECONDS):
        return f"the engine's database {database.name!r} is damaged: {_ADVICE}"
    return None


def is_sound(database: Path, *, until: float, is_copy: bool = False) -> bool:
    """False only if SQLite says that the database is broken. A locked database, or one that takes longer than `until`,
    counts as sound.
    A copy has no log file beside it, and the option `immutable` keeps SQLite from creating one.
    """
    name = f"file:{quote(str(database))}?mode=ro{'&immutable=1' if is_copy else ''}"
    try:
        with closing(sqlite3.connect(name, uri=True, timeout=1.0)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            connection.execute("PRAGMA trusted_schema=OFF")
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.Error as error:
        return (getattr(error, "sqlite_errorcode", 0) & 0xFF) not in _BROKEN_DATABASE


def _database(data: Path, stores: Stores) -> Path | None:
    """The database file that holds the engine's sessions, if the engine has one. SQLite's log files are beside it and
    have longer names.
    """
    return min(_session_files(data, stores), default=None, key=lambda path: len(path.name)) if stores.count else None


def _session_files(data: Path, stores: Stores) -> Iterator[Path]:
    """Only plain files. Raises OSError if the disk is broken."""
    try:
        with os.scandir(data / stores.sessions) as entries:
            for number, entry in enumerate(entries):
                if number > MOST_FILES:
                    return
                if fnmatch(entry.name, stores.session_files) and entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
    except FileNotFoundError:
        return
