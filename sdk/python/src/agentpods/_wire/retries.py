"""When a call is sent again, and after how long."""

from __future__ import annotations

import random

from agentpods._wire.call import ApiCall
from agentpods.errors import ApiError, NoAnswerError

FIRST_SECONDS = 0.5
MOST_SECONDS = 8.0
LONGEST_RETRY_AFTER = 60.0  # seconds; a longer wait is the caller's decision
BUSY = {502, 503, 504}


class Retries:
    """The attempts of one call. `after` says how many seconds to wait before the next one, or None to give up.

    A call that may have been done already is sent again only where a repeat does no harm.
    """

    def __init__(self, call: ApiCall, *, at_most: int) -> None:
        self._call, self._left, self._pause = call, at_most, FIRST_SECONDS
        self.may_be_done = False  # by an attempt whose answer was lost

    def after(self, failure: ApiError | NoAnswerError) -> float | None:
        if self._left <= 0 or not self._may_repeat(failure):
            return None
        asked = failure.retry_after if isinstance(failure, ApiError) else None
        if asked is not None and asked > LONGEST_RETRY_AFTER:
            return None
        self._left -= 1
        self.may_be_done |= not _is_limited(failure)
        pause, self._pause = self._pause, min(self._pause * 2, MOST_SECONDS)
        return asked if asked is not None else pause * random.uniform(0.5, 1.0)  # noqa: S311  # no secret

    def _may_repeat(self, failure: ApiError | NoAnswerError) -> bool:
        if _is_limited(failure):
            return True
        is_passing = isinstance(failure, NoAnswerError) or failure.status in BUSY
        return is_passing and self._call.is_repeatable


def _is_limited(failure: ApiError | NoAnswerError) -> bool:
    """Whether the service refused the call before it did anything."""
    return isinstance(failure, ApiError) and failure.status == 429
