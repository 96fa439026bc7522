"""How long a test waits for an event before it fails.

A time limit is meant for a machine with one core for each busy process. When several processes share a core, everything
takes that many times as long, and a second counts for less. So promises in seconds are still checked, and no test fails
only because other tests run at the same time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

_LOAD = Path("/proc/loadavg")


class Patience:
    """`Patience(15)` ends after 15 seconds on an idle machine."""

    def __init__(self, seconds: float) -> None:
        self._left, self._seen = seconds, time.monotonic()

    def ended(self) -> bool:
        """Whether the time is over. Call this often: each call counts the time since the call before."""
        now = time.monotonic()
        self._left -= (now - self._seen) / crowding()
        self._seen = now
        return self._left <= 0


def crowding() -> float:
    """How many processes want each core, at least 1: the larger of the last minute's average and the present value."""
    if not _LOAD.exists():
        return 1.0
    minute, _, _, now, _ = _LOAD.read_text(encoding="utf-8").split()
    wanting = max(float(minute), float(now.partition("/")[0]))
    return max(1.0, wanting / (os.cpu_count() or 1))


def wait_until(happened: Callable[[], bool], seconds: float = 5) -> None:
    patience = Patience(seconds)
    while not happened():
        assert not patience.ended(), "it did not happen in time"
        time.sleep(0.01)
