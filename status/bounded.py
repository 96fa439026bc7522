"""Runs a check with a time limit.

A dependency that hangs blocks no caller and does not fill the process with threads.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from django.db import connection
from django.utils import timezone

log = logging.getLogger(__name__)

LIMIT_SECONDS = 1.5
FRESH_SECONDS = 1.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome(Generic[T]):
    """The result of a check. `value` is None if the check failed or did not answer in time."""

    value: T | None = None
    ok: bool
    latency_ms: int | None
    checked_at: datetime


@dataclass(slots=True)
class _Run(Generic[T]):
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    outcome: CheckOutcome[T] | None = None


class BoundedCheck(Generic[T]):
    """One check in its own thread. It never runs twice at once, and its result is shared for `fresh` seconds.

    No caller waits longer than `limit` seconds. A check that hangs keeps its one thread. Until it ends, callers learn
    at once that it does not answer.
    """

    def __init__(
        self, name: str, check: Callable[[], T], *, fresh: float = FRESH_SECONDS, limit: float = LIMIT_SECONDS
    ) -> None:
        self.name = name
        self._check = check
        self._fresh, self._limit = fresh, limit
        self._lock = threading.Lock()
        self._run: _Run[T] | None = None

    def start(self) -> _Run[T]:
        """The running or still fresh check, else a new one."""
        with self._lock:
            run = self._run
            if run is None or (run.ended is not None and time.monotonic() - run.ended >= self._fresh):
                run = self._run = _Run()
                threading.Thread(target=self._work, args=(run,), name=f"check-{self.name}", daemon=True).start()
            return run

    def outcome(self) -> CheckOutcome[T]:
        run = self.start()
        run.finished.wait(run.began + self._limit - time.monotonic())
        return run.outcome or CheckOutcome(ok=False, latency_ms=None, checked_at=timezone.now())

    def _work(self, run: _Run[T]) -> None:
        now = timezone.now()
        try:
            value = self._check()
        except Exception as error:  # noqa: BLE001  # any exception of a dependency means that it is not well
            log.warning("%s has a problem: %s", self.name, error)
            run.outcome = CheckOutcome(ok=False, latency_ms=_elapsed_ms(run), checked_at=now)
        else:
            run.outcome = CheckOutcome(value=value, ok=True, latency_ms=_elapsed_ms(run), checked_at=now)
        connection.close()  # back to the pool; otherwise it would be lost with this thread
        run.ended = time.monotonic()
        run.finished.set()


def _elapsed_ms(run: _Run[T]) -> int:
    return round((time.monotonic() - run.began) * 1000)
