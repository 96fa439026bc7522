"""Places for calls that wait for somebody else: a receiver, a pod, a payment company.

Web answers most requests in milliseconds on a few threads. A call that waits steps aside: another request runs in its
stead, and its database connection goes back to the pool. How many calls wait is bounded, over all and for each account.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

from config.callers import caller
from config.errors import Unavailable

RETRY_AFTER_SECONDS = 10


class Places:
    """`total` calls may wait in this process, `each()` of them for one account."""

    def __init__(self, total: int, *, each: Callable[[], int]) -> None:
        self.total = total
        self._each = each
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def take(self, account: str) -> Iterator[None]:
        """Wait inside of this. Raises Unavailable when the account has its share, or every place is taken."""
        self._enter(account)
        try:
            if current := caller.get():
                current.step_aside()
            release_connection()
            yield
        finally:
            self._leave(account)

    def hold(self, account: str) -> Callable[[], None]:
        """A place for what outlives its request. Returns what gives it back, once. Raises Unavailable as `take`."""
        self._enter(account)
        left = threading.Lock()

        def leave() -> None:
            if left.acquire(blocking=False):
                self._leave(account)

        return leave

    def _enter(self, account: str) -> None:
        with self._lock:
            if self._taken[account] >= self._each():
                raise _busy(f"{self._each()} calls of this account are waiting for an answer already")
            if self._taken.total() >= self.total:
                raise _busy(f"{self.total} calls are waiting for an answer already")
            self._taken[account] += 1

    def _leave(self, account: str) -> None:
        with self._lock:
            self._taken[account] -= 1
            if not self._taken[account]:
                del self._taken[account]


# A turn with an agent, a test, a licence: up to two minutes.
turns = Places(256, each=lambda: settings.WAITING_CALLS_PER_ACCOUNT)
# A look that is over in seconds: liveness, why an agent is silent, whether a key is good. An account that asks about
# many agents at once is served; one whose pods hang takes a quarter.
looks = Places(128, each=lambda: 32)
# A look at a customer's domain: its owner may run a name server that never answers.
names = Places(32, each=lambda: 4)

# Who follows a log takes no thread, but a connection and memory for as long as they like.
followers = Places(512, each=lambda: settings.LOG_FOLLOWERS_PER_ACCOUNT)


def _busy(problem: str) -> Unavailable:
    return Unavailable(f"{problem}: try again in {RETRY_AFTER_SECONDS} s", retry_after=RETRY_AFTER_SECONDS)


def release_connection() -> None:
    """Give this thread's database connection back to the pool; the next query takes another."""
    if not connection.in_atomic_block:
        connection.close()
