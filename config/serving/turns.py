"""Who runs next: callers take turns, so that one who sends hundreds of requests waits behind its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from http import HTTPStatus

from granian.rsgi import Scope

from config.serving.bodies import Refused


class Turns:
    """Places for `running` requests; at most `queued` wait for one. Of one event loop, and without threads.

    A caller alone may have all places. Who waits is let in by turns: one request of each caller that waits, then again.
    """

    def __init__(self, *, running: int, queued: int) -> None:
        self._free = running
        self._room = queued
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._count = 0  # of those who wait: to count them for each request that comes would hold up the loop

    async def enter(self, caller: str, *, seconds: float) -> None:
        """Wait for a place, so many seconds at most. Raises Refused; who got in calls `leave`."""
        if self._free and not self._waiting:
            self._free -= 1
            return
        self._make_room(caller)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        self._count += 1
        try:
            async with asyncio.timeout(seconds):
                await turn
        except TimeoutError as error:
            self._forget(caller, turn)
            raise _overloaded() from error
        except asyncio.CancelledError:
            self._forget(caller, turn)
            raise

    def leave(self) -> None:
        """Give the place to whose turn it is."""
        while self._waiting:
            caller, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            self._count -= 1
            if turns:
                self._waiting[caller] = turns  # behind the others
            if not turn.done():  # it may have been given up a moment ago
                turn.set_result(None)
                return
        self._free += 1

    def _make_room(self, caller: str) -> None:
        """Where too many wait, the latest of who has most waiting goes, or this one. Raises Refused."""
        if self._count < self._room:
            return
        if len(self._waiting) == self._count:  # one of each
            raise _overloaded()
        greediest = max(self._waiting, key=lambda one: len(self._waiting[one]))
        if greediest == caller:
            raise _overloaded()
        latest = self._waiting[greediest].pop()
        self._count -= 1
        if not latest.done():
            latest.set_exception(_overloaded())

    def _forget(self, caller: str, turn: asyncio.Future[None]) -> None:
        """It waits no longer; a place that it was given in the same moment is the next one's."""
        if turn.done() and not turn.cancelled() and turn.exception() is None:
            self.leave()
            return
        turns = self._waiting.get(caller, deque())
        with contextlib.suppress(ValueError):
            turns.remove(turn)
            self._count -= 1
        if not turns:
            self._waiting.pop(caller, None)


def caller_of(scope: Scope) -> str:
    """Who sent the request: its credential if it has one, else its address."""
    credential = scope.headers.get("authorization") or scope.headers.get("cookie")
    return credential or scope.client.rpartition(":")[0]


def _overloaded() -> Refused:
    message = "too many requests at once: try again in a second"
    return Refused(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after=1)
