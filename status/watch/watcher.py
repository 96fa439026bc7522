"""The thread of each web process that takes the samples. It needs no worker, so it sees that workers are gone.

While the database does not answer, the samples wait in this process, and are stored when it answers again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass

from django.db import DatabaseError, connection
from django.utils import timezone
from psycopg_pool import PoolTimeout

from status import components
from status.watch import answering, automatic, parts, samples
from status.watch.samples import EVERY, Answered

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0  # three times in each half minute, so that none is left out
MOST_WAITING = 240  # samples: two hours
UNREACHABLE = (DatabaseError, PoolTimeout)


@dataclass(frozen=True, slots=True)
class WaitingSample:
    taken: float  # of the monotonic clock
    down: list[str]
    answered: Answered


class Watcher:
    def __init__(self) -> None:
        self._waiting: deque[WaitingSample] = deque(maxlen=MOST_WAITING)
        self._count = answering.RequestCount()

    def start(self) -> None:
        threading.Thread(target=self._work, name="watch", daemon=True).start()

    def _work(self) -> None:
        while True:
            time.sleep(LOOK_SECONDS)
            try:
                self.look()
            except Exception:  # the next look may succeed, and without this thread there would be none
                log.exception("the platform was not looked at")
            finally:
                connection.close()

    def look(self) -> None:
        """Take the sample of this half minute, unless some process has it."""
        try:
            if self._waiting:
                self._store_waiting()
            if samples.is_taken():
                self._add_requests()
            else:
                self._take(self._down())
        except UNREACHABLE as error:
            log.warning("the sample of the platform's health is not stored", extra={"error": str(error)})
            self._keep()

    def _add_requests(self) -> None:
        answered = self._count.since_last()
        if answered.requests and not samples.add(answered):
            self._count.give_back(answered)

    def _take(self, down: list[str]) -> None:
        if "database" in down:
            self._keep(down)
            return
        answered = self._count.since_last()
        self._waiting.append(WaitingSample(time.monotonic(), down, answered))
        self._store_waiting()

    def _store_waiting(self) -> None:
        """Store the samples that wait, oldest first. One that cannot be stored stays with those after it."""
        while self._waiting:
            one = self._waiting[0]
            at = samples.store(one.down, one.answered, seconds_ago=max(0.0, time.monotonic() - one.taken))
            self._waiting.popleft()
            if at is not None:
                automatic.look(at, now=timezone.now())
                samples.forget(at=at)

    def _keep(self, down: list[str] | None = None) -> None:
        """The database does not answer: keep a sample of that, one for each half minute."""
        last = self._waiting[-1].taken if self._waiting else float("-inf")
        if time.monotonic() - last >= EVERY.total_seconds() - LOOK_SECONDS / 2:
            found = ["database"] if down is None else down
            self._waiting.append(WaitingSample(time.monotonic(), found, self._count.since_last()))

    def _down(self) -> list[str]:
        return parts.down(components.measured(now=timezone.now())[0])
