"""Remembers the results of the model calls through the key proxy, so that a failed turn can show the reason."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from agents.pod.gateway.timings import Timings

REMEMBERED = 20
MESSAGE_LENGTH = 300


@dataclass(frozen=True, slots=True)
class ModelFailure:
    status: int | None  # HTTP status; None if there was no answer
    message: str  # contains no key, so it may be shown to people
    of_key: bool = False  # a limit of the API key refused it: the agent itself is well
    of_limit: bool = False  # a limit of the owner's refused it: the model was not asked
    ends: float | None = None  # the monotonic time at which that limit begins anew
    tick: float = field(default_factory=time.monotonic)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def retry_after(self) -> int | None:
        """The seconds until the limit that refused the call begins anew."""
        return None if self.ends is None else max(1, math.ceil(self.ends - time.monotonic()))


class ModelLog:
    def __init__(self) -> None:
        self.calls = 0
        self.in_flight = 0
        self.timings = Timings()
        self._failures: deque[ModelFailure] = deque(maxlen=REMEMBERED)
        self._answered = float("-inf")

    @contextmanager
    def call(self) -> Iterator[None]:
        self.calls += 1
        self.in_flight += 1
        try:
            with self.timings.model_call():
                yield
        finally:
            self.in_flight -= 1

    def failed(
        self,
        status: int | None,
        message: str,
        *,
        of_key: bool = False,
        of_limit: bool = False,
        seconds: int | None = None,
    ) -> ModelFailure:
        """Note a failure. `seconds` until the limit that refused the call begins anew."""
        ends = None if seconds is None else time.monotonic() + seconds
        failure = ModelFailure(status, " ".join(message.split())[:MESSAGE_LENGTH], of_key, of_limit, ends)
        self._failures.append(failure)
        return failure

    def answered(self) -> None:
        self._answered = time.monotonic()

    def failure_since(self, tick: float) -> ModelFailure | None:
        """The newest failure at or after the monotonic time `tick`, unless the model has answered since then."""
        newest = self._failures[-1] if self._failures else None
        return newest if newest and newest.tick >= tick and newest.tick > self._answered else None

    def forget(self) -> None:
        """Call this for a new key, provider or model: results of the old one say nothing about it."""
        self._failures.clear()
        self._answered = float("-inf")

    def failing(self) -> ModelFailure | None:
        """The last result, if it was a failure of the agent; else None."""
        newest = self._newest
        return newest if newest and newest.tick > self._answered else None

    @property
    def _newest(self) -> ModelFailure | None:
        return next((one for one in reversed(self._failures) if not one.of_key), None)

    def summary(self) -> dict[str, Any]:
        newest = self._newest
        known = {"calls": self.calls, "in_flight": self.in_flight, "last_failure": _told(newest)}
        return {**known, "failing": self.failing() is not None, "answered": self._answered > float("-inf")}


def _told(failure: ModelFailure | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    told = {"status": failure.status, "message": failure.message, "at": failure.at.isoformat()}
    return {**told, "of_limit": failure.of_limit}
