"""Callers take turns: a caller that sends hundreds of requests waits behind its own requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from http import HTTPStatus

from granian.rsgi import Scope

from config.serving.bodies import BodyRefused


class FairQueue:
    """Places for `running` requests; at most `queued` requests wait for one. For one event loop, not for threads.

    A caller alone may have all places. Waiting callers are served in turns: one request of each, then again.
    """

    def __init__(self, *, running: int, queued: int) -> None:
        self._free = running
        self._room = queued
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._count = 0  # how many wait; counting them for each request would block the loop

    async def enter(self, caller: str, *, seconds: float) -> None:
        """Wait for a place, at most `seconds`. Raises Refused. A caller that got in calls `leave` later."""
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
        """Give the place to the next caller."""
        while self._waiting:
            caller, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            self._count -= 1
            if turns:
                self._waiting[caller] = turns  # behind the others
            if not turn.done():  # its request may have been given up a moment ago
                turn.set_result(None)
                return
        self._free += 1

    def _make_room(self, caller: str) -> None:
        """If the queue is full, drop the last request of the caller with most waiting requests.

        Raises Refused for the new request if its own caller has most, or if each has one.
        """
        if self._count < self._room:
            return
        if len(self._waiting) == self._count:  # each caller has one
            raise _overloaded()
        greediest = max(self._waiting, key=lambda one: len(self._waiting[one]))
        if greediest == caller:
            raise _overloaded()
        latest = self._waiting[greediest].pop()
        self._count -= 1
        if not latest.done():
            latest.set_exception(_overloaded())

    def _forget(self, caller: str, turn: asyncio.Future[None]) -> None:
        """Remove a request that no longer waits.

        If it got a place at the same moment, the next request gets that place.
        """
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
    """The caller: the request's credential if it has one, else its address."""
    credential = scope.headers.get("authorization") or scope.headers.get("cookie")
    return credential or scope.client.rpartition(":")[0]


def _overloaded() -> BodyRefused:
    message = "too many requests at once: try again in a second"
    return BodyRefused(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after=1)
