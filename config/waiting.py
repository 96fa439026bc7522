"""Limits for calls that wait for another service: a receiver, a pod, a payment provider.

The web program answers most requests in milliseconds on a few threads. A call that waits goes on on the event loop
(config/promises.py), or steps aside in its thread: another request runs in its place, and its database connection
returns to the pool. The number of waiting calls is limited, in total and for each account.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

from config import dry_run
from config.callers import caller
from config.errors import Unavailable
from config.operator_settings import operator_settings

RETRY_AFTER_SECONDS = 10


class WaitLimit:
    """Lets `total` calls wait in this process, and `each()` calls of one account. `threads` of them, by default all,
    may wait in a thread.
    """

    def __init__(self, total: int, *, each: Callable[[], int], threads: int | None = None) -> None:
        self.total = total
        self.threads = total if threads is None else threads
        self._each = each
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()
        self._in_threads = 0

    @contextmanager
    def take(self, account: str) -> Iterator[None]:
        """Wait inside this block, in this thread.

        Raises Unavailable if the account has all its places in use, or if all places are in use, and NoDryRun.
        """
        self._enter(account, threads=1)
        try:
            if current := caller.get():
                current.step_aside()
            release_connection()
            yield
        finally:
            self._leave(account, threads=1)

    def hold(self, account: str) -> Callable[[], None]:
        """Take a place for work that outlives its request, without a thread.

        Return a function that gives it back, once. Raises Unavailable as `take`.
        """
        self._enter(account, threads=0)
        left = threading.Lock()

        def leave() -> None:
            if left.acquire(blocking=False):
                self._leave(account, threads=0)

        return leave

    @contextmanager
    def held(self, account: str) -> Iterator[Callable[[], None]]:
        """The same. The place is given back at once if this block fails."""
        leave = self.hold(account)
        try:
            yield leave
        except BaseException:
            leave()
            raise

    def _enter(self, account: str, *, threads: int) -> None:
        dry_run.refuse("it asks another service")
        most = self._each()  # may ask the database, which must not keep others waiting
        with self._lock:
            if self._taken[account] >= most:
                raise _busy(f"{most} calls of this account are waiting for an answer already")
            if self._taken.total() >= self.total:
                raise _busy(f"{self.total} calls are waiting for an answer already")
            if self._in_threads + threads > self.threads:
                raise _busy(f"{self.threads} calls are waiting for an answer already")
            self._in_threads += threads
            self._taken[account] += 1

    def _leave(self, account: str, *, threads: int) -> None:
        with self._lock:
            self._in_threads -= threads
            self._taken[account] -= 1
            if not self._taken[account]:
                del self._taken[account]


# A turn with an agent, a test, a check of a licence: up to two minutes. Turns use no thread, but two connections.
turns = WaitLimit(4_096, threads=256, each=lambda: operator_settings.WAITING_CALLS_PER_ACCOUNT)
# Checks that take seconds: whether a pod is alive, why an agent is silent, whether a key works. The limit is high
# enough for an account with many agents; an account whose pods hang uses a quarter of the places.
looks = WaitLimit(128, each=lambda: 32)
# Checks of a customer's domain: its owner may run a name server that never answers.
names = WaitLimit(32, each=lambda: 4)

# Log followers use no thread, but a connection and memory, for as long as they like.
followers = WaitLimit(512, each=lambda: operator_settings.LOG_FOLLOWERS_PER_ACCOUNT)

# So do those who follow events.
listeners = WaitLimit(12_000, each=lambda: 16)

# Calls that wait until an agent has settled (`Prefer: wait`) use no thread either.
settlings = WaitLimit(4_096, each=lambda: 256)


def _busy(problem: str) -> Unavailable:
    return Unavailable(f"{problem}: try again in {RETRY_AFTER_SECONDS} s", retry_after=RETRY_AFTER_SECONDS)


def release_connection() -> None:
    """Give this thread's database connection back to the pool; the next query takes another."""
    if not connection.in_atomic_block:
        connection.close()
