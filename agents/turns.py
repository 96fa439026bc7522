"""Turns of what one process does again and again: one at a time, unless one takes too long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A turn that takes longer than `hold_seconds` holds the next one up no more."""

    def __init__(self, *, hold_seconds: float) -> None:
        self._hold_seconds = hold_seconds
        self._gate = threading.Lock()
        self._current: object | None = None
        self._begun = 0.0

    @contextmanager
    def take(self) -> Iterator[bool]:
        """Whether it is ours to act now."""
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
