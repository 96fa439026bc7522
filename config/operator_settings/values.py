"""What operators chose, in memory: one statement of each process every three seconds at most reads all rows.

So a change holds in every process within five seconds. The process in which an operator saves reads the rows at once.
While the database is down, the last values stay in use.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError

log = logging.getLogger(__name__)

LOOK_SECONDS = 3.0
AWAY_SECONDS = 5.0  # between two tries when the database is down, because each may wait long


class ChosenValues:
    """`revision` is another number after each change that this process has seen."""

    def __init__(self) -> None:
        self.revision = 0
        self._lock = threading.Lock()
        self._rows: dict[str, str | None] = {}
        self._values: Mapping[str, Any] = {}
        self._looked = False
        self._next_look = 0.0

    def current(self) -> Mapping[str, Any]:
        """The values by name, of the settings for which an operator chose one.

        While one thread reads, others use the values of before. Only at the start they wait.
        """
        if time.monotonic() >= self._next_look and self._lock.acquire(blocking=not self._looked):
            try:
                if time.monotonic() >= self._next_look:
                    self._look()
            finally:
                self._lock.release()
        return self._values

    def look(self) -> None:
        """Read the rows now."""
        with self._lock:
            self._look()

    @contextmanager
    def unread(self) -> Iterator[None]:
        """Do not read the rows inside this block: for system checks, which need no database."""
        due, self._next_look = self._next_look, float("inf")
        try:
            yield
        finally:
            self._next_look = due

    def _look(self) -> None:
        from config.operator_settings.models import chosen_texts  # noqa: PLC0415 # settings.py imports this module

        pause = LOOK_SECONDS
        try:
            self._use(chosen_texts())
        except (DatabaseError, InterfaceError):
            log.warning("what operators chose cannot be read: the last values stay in use", exc_info=True)
            pause = AWAY_SECONDS
        self._looked, self._next_look = True, time.monotonic() + pause

    def _use(self, rows: dict[str, str | None]) -> None:
        if rows != self._rows:
            self._rows, self._values = rows, _values(rows)
            self.revision += 1


def _values(rows: dict[str, str | None]) -> dict[str, Any]:
    """Leave out names that are no settings, and values that cannot be read: the environment's value holds then."""
    from config.operator_settings.registry import SETTINGS  # noqa: PLC0415 # its settings read from this module

    found = {}
    for name in rows.keys() & SETTINGS.keys():
        try:
            found[name] = SETTINGS[name].read(rows[name])
        except ImproperlyConfigured as problem:
            log.error("an operator's value cannot be read, so the environment's is used: %s", problem)
    return found


values = ChosenValues()
