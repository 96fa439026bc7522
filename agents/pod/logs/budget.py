"""A limit on how much may be used in a time."""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """`rate` units per second. Unused units are saved, up to `burst`."""

    def __init__(self, *, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left = burst
        self._at = clock()

    @property
    def left(self) -> float:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        return self._left

    def take(self, units: float = 1.0) -> bool:
        """Whether that many units are left. If so, they are used."""
        if self.left < units:
            return False
        self._left -= units
        return True

    def owe(self, units: float) -> float:
        """Use the units even if they are not left. Returns for how many seconds nothing more should be used."""
        self._left = self.left - units
        return max(0.0, -self._left / self._rate)
