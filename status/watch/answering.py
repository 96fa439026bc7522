"""How many requests this web process answered, and how many of them it failed, by its own metrics."""

from __future__ import annotations

from config.metrics.requests import REFUSED, REQUESTS
from status.watch.samples import Answered

FAILED, OVERLOADED = "500", "503"


class RequestCount:
    def __init__(self) -> None:
        self._last = _until_now()

    def since_last(self) -> Answered:
        last, self._last = self._last, _until_now()
        return Answered(self._last.requests - last.requests, self._last.failed - last.failed)

    def give_back(self, answered: Answered) -> None:
        """They were not stored: the next call returns them again."""
        self._last = Answered(self._last.requests - answered.requests, self._last.failed - answered.failed)


def _until_now() -> Answered:
    """A request that web refused because it had no thread is failed. What a client did wrong is not."""
    by_status: dict[str, int] = {}
    for one in next(iter(REQUESTS.collect())).samples:
        by_status[one.labels["status"]] = by_status.get(one.labels["status"], 0) + int(one.value)
    refused = next(iter(REFUSED.collect())).samples
    overloaded = int(sum(one.value for one in refused if one.labels["status"] == OVERLOADED))
    return Answered(sum(by_status.values()) + overloaded, by_status.get(FAILED, 0) + overloaded)
