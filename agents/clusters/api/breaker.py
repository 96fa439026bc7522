"""The circuit breaker: stops calls for a while after several failures in a row, so that callers do not wait for a
broken server again and again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FAILURES = 5
OPEN_SECONDS = 5.0


class Breaker:
    """Lets all calls through until FAILURES failures in a row. Then one call per OPEN_SECONDS is let through, until one
    succeeds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._next_try = 0.0

    def lets_through(self) -> bool:
        with self._lock:
            if self._failures < FAILURES:
                return True
            if self._clock() < self._next_try:
                return False
            self._next_try = self._clock() + OPEN_SECONDS
            return True

    def worked(self) -> None:
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures == FAILURES:
                self._next_try = self._clock() + OPEN_SECONDS
