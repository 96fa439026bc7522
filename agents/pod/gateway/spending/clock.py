"""The time by the control plane's clock: the clock of a pod's node may be wrong, and limits end with the day."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SharedClock:
    """Until the control plane has told its time, this is the node's."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def set(self, now: float) -> None:
        """Take this as the present time, in Unix seconds."""
        self._ahead = now - time.monotonic()

    def now(self) -> float:
        """The present time in Unix seconds. It never goes back between two exchanges."""
        return time.monotonic() + self._ahead

    def day(self) -> str:
        """Today in UTC, as 2026-11-28."""
        return datetime.fromtimestamp(self.now(), UTC).date().isoformat()
