"""Stores messages of channels and runs of schedules in a file beside hermes' data, until they are over.
The module runs inside hermes' own process (hermes_start.py) and imports nothing from this project.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

# Telegram keeps a message no longer than this. After it, nobody expects an answer any more.
KEPT_SECONDS = 24 * 3600.0
# A message is not taken more often than this, in case it ends the engine each time.
TIMES_TAKEN = 4
# The names of finished messages are kept, because some services send a message again.
NAMES_KEPT = 5_000
_CREATE = """
CREATE TABLE IF NOT EXISTS messages (
    number INTEGER PRIMARY KEY, channel TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
    came_at REAL NOT NULL, taken INTEGER NOT NULL DEFAULT 1, is_over INTEGER NOT NULL DEFAULT 0,
    UNIQUE (channel, name)
)"""
_ADD = "INSERT OR IGNORE INTO messages (channel, name, body, came_at) VALUES (?, ?, ?, ?)"
_BEGIN = """
INSERT INTO messages (channel, name, body, came_at) VALUES (?, ?, ?, ?)
ON CONFLICT (channel, name) DO UPDATE SET body = excluded.body, came_at = excluded.came_at, taken = 1, is_over = 0
WHERE is_over"""
_REMEMBER = "INSERT OR IGNORE INTO messages (channel, name, body, came_at, is_over) VALUES (?, ?, '', ?, 2)"
# Deletes the last message of a person from hermes' sessions if its turn was cut off before an answer: the message is
# processed again, or given up.
_UNSAY = """
DELETE FROM messages WHERE role = 'user' AND NOT observed AND id IN (
    SELECT max(messages.id) FROM messages JOIN sessions ON sessions.id = messages.session_id
    WHERE sessions.source = ? AND messages.role <> 'session_meta' GROUP BY messages.session_id
)"""
_GIVE_UP = """
UPDATE messages SET is_over = 1, body = '' WHERE channel = ? AND NOT is_over AND (came_at < ? OR taken >= ?)"""
_TAKE = "UPDATE messages SET taken = taken + 1 WHERE channel = ? AND NOT is_over"
_LEFT = "SELECT name, body FROM messages WHERE channel = ? AND NOT is_over ORDER BY number"
_FORGET = """
DELETE FROM messages WHERE is_over = 1 AND channel = ? AND number <= (SELECT max(number) FROM messages) - ?"""


class Kept:
    """The messages of one channel, in a file that outlives the process."""

    def __init__(self, home: Path, channel: str) -> None:
        self._file, self._state = home / "messages.db", home / "state.db"
        self._channel = channel
        try:
            self._create()
        except sqlite3.OperationalError:
            raise
        # the agent's own tools can write here, and a broken file must not keep hermes from starting
        except sqlite3.DatabaseError:
            self._file.replace(self._file.with_suffix(".broken"))
            self._create()

    def _create(self) -> None:
        with self._open(self._file) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(_CREATE)

    def add(self, name: str, body: str) -> None:
        with self._open(self._file) as database:
            database.execute(_ADD, (self._channel, name, body, time.time()))

    def begin(self, name: str, body: str) -> None:
        """Start a message or run that may come again with the same name. If an earlier process did not finish it,
        nothing changes.
        """
        with self._open(self._file) as database:
            database.execute(_BEGIN, (self._channel, name, body, time.time()))

    def unfinished(self) -> set[str]:
        with self._open(self._file) as database:
            return {name for name, _ in database.execute(_LEFT, (self._channel,))}

    def remember(self, name: str) -> None:
        """Store a name that is never forgotten and is not a message."""
        with self._open(self._file) as database:
            database.execute(_REMEMBER, (self._channel, name, time.time()))

    def left(self, *, times: int = TIMES_TAKEN) -> list[tuple[str, str]]:
        """Names and bodies of everything that an earlier process did not finish, oldest first. Each counts as taken
        once more.
        """
        now, theirs = time.time(), (self._channel,)
        with self._open(self._file) as database:
            given_up = database.execute(_GIVE_UP, (*theirs, now - KEPT_SECONDS, times)).rowcount
            database.execute(_TAKE, theirs)
            database.execute(_FORGET, (*theirs, NAMES_KEPT))
            found = list(database.execute(_LEFT, theirs))
        if (found or given_up) and self._state.exists():
            with self._open(self._state) as database:
                database.execute(_UNSAY, theirs)
        return found

    def is_over(self, name: str) -> bool:
        with self._open(self._file) as database:
            found = database.execute(
                "SELECT is_over FROM messages WHERE channel = ? AND name = ?", (self._channel, name)
            ).fetchone()
        return bool(found and found[0])

    def names(self) -> list[str]:
        """All known names, oldest first."""
        with self._open(self._file) as database:
            found = database.execute("SELECT name FROM messages WHERE channel = ? ORDER BY number", (self._channel,))
            return [name for (name,) in found]

    def over(self, names: Iterable[str]) -> None:
        values = [(self._channel, name) for name in names]
        with self._open(self._file) as database:
            database.executemany("UPDATE messages SET is_over = 1, body = '' WHERE channel = ? AND name = ?", values)

    @contextmanager
    def _open(self, file: Path) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(file, timeout=10)) as database, database:
            yield database
