"""The rules of following a log over broken connections, without the network."""

from __future__ import annotations

from agentpods._wire.retries import BUSY, LONGEST_RETRY_AFTER, MOST_SECONDS
from agentpods._wire.sse import ServerEvent
from agentpods.errors import ApiError, NoAnswerError

MOST_FAILURES = 8  # in a row, without a single event between them


class Follow:
    """Where a log goes on after a connection has ended, and when to give up."""

    def __init__(self, place: str | None) -> None:
        self.place = place
        self._state: dict[str, object] | None = None
        self._failures = 0
        self._ends = 0  # of connections, without an event between them

    def is_news(self, event: ServerEvent) -> bool:
        """Whether the caller should see this event. Each new connection begins with the state, changed or not."""
        self.place = event.id or self.place
        if event.name == "state":
            is_new, self._state = event.data != self._state, event.data
            return is_new
        self._failures = self._ends = 0
        return True

    def pause_after(self, failure: ApiError | NoAnswerError | None) -> float:
        """The seconds until the next connection. Raises the failure where another one is of no use."""
        is_final = isinstance(failure, ApiError) and failure.status != 429 and failure.status not in BUSY
        self._ends += 1
        self._failures = self._failures + 1 if failure else 0  # a quiet stream ends after a while, which is no failure
        asked = (failure.retry_after if isinstance(failure, ApiError) else None) or 0.0
        if failure and (is_final or self._failures > MOST_FAILURES or asked > LONGEST_RETRY_AFTER):
            raise failure
        return max(min(0.5 * float(2 ** min(self._ends, 10)), MOST_SECONDS), asked)
