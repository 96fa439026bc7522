"""How long a test waits for an event before it says that the event does not come.

Limits are for a machine with a core for each process that wants one. Where several share a core, everything takes so
many times as long, and a second counts for so much less. So what is promised in seconds is still held to them, and no
test loses a race against its neighbours.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

_LOAD = Path("/proc/loadavg")


class Patience:
    """`Patience(15)`: at its end after 15 seconds of such a machine."""

    def __init__(self, seconds: float) -> None:
        self._left, self._seen = seconds, time.monotonic()

    def ended(self) -> bool:
        """To be asked often: it counts from one question to the next."""
        now = time.monotonic()
        self._left -= (now - self._seen) / crowding()
        self._seen = now
        return self._left <= 0


def crowding() -> float:
    """How many processes want each core, at least one: over the last minute or now, whichever is more."""
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
