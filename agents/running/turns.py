"""Turns for a job that one process repeats: one at a time, unless a turn takes too long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class OneAtATime:
    """A turn that takes longer than `hold_seconds` no longer holds up the next one."""

    def __init__(self, *, hold_seconds: float) -> None:
        self._hold_seconds = hold_seconds
        self._gate = threading.Lock()
        self._current: object | None = None
        self._begun = 0.0

    @contextmanager
    def take(self) -> Iterator[bool]:
        """Yield whether the caller may act now."""
        mine = object()
        ours = self._begin(mine)
        try:
            yield ours
        finally:
            with self._gate:
                if self._current is mine:
                    self._current = None

    def _begin(self, mine: object) -> bool:
        with self._gate:
            if self._current is not None and time.monotonic() - self._begun < self._hold_seconds:
                return False
            self._current, self._begun = mine, time.monotonic()
            return True
