"""Decides which objects are in memory and whose turn is next: a pod that sends slowly, by intent or not, must not delay
others.

A free place goes to the agent that has the fewest places. While a request waits, the slowest body is given up. For some
time after that, its agent shares half of the places with other slow agents.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

# Objects in memory at the same time, over all agents and for each agent; and how many requests of one agent may wait.
UPLOADS, UPLOADS_EACH, WAITING_EACH = 8, 3, 8
BODY_SECONDS = 120.0
# A body that is slower than this (bytes per second) after so many seconds is given up if another request waits. At that
# speed a whole pack would not arrive in time either.
SLOW_BYTES, GRACE_SECONDS = 64 * 1024, 5.0
# After a body was given up, its agent shares SLOW_PLACES places with all such agents, for SLOW_SECONDS.
SLOW_PLACES, SLOW_SECONDS = 4, 600.0
LOOK_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class Body:
    """A request's body that is being read."""

    agent_id: str
    limit: asyncio.Timeout
    begun: float
    received: int = 0

    def speed(self, now: float) -> float:
        return self.received / (now - self.begun)


@dataclass(slots=True, eq=False)
class Waiting:
    agent_id: str
    turn: asyncio.Future[None]


@dataclass(slots=True)
class Uploads:
    free: int = field(default_factory=lambda: UPLOADS)
    held: Counter[str] = field(default_factory=Counter)
    waiting: list[Waiting] = field(default_factory=list)
    bodies: set[Body] = field(default_factory=set)
    slow_until: dict[str, float] = field(default_factory=dict)  # agent id to the loop's time

    @asynccontextmanager
    async def place(self, agent_id: str) -> AsyncIterator[None]:
        if sum(one.agent_id == agent_id for one in self.waiting) >= WAITING_EACH:
            raise web.HTTPServiceUnavailable(reason=f"{WAITING_EACH} requests of this agent wait already")
        one = Waiting(agent_id, asyncio.get_running_loop().create_future())
        self.waiting.append(one)
        self._give()
        try:
            while not one.turn.done():
                await asyncio.wait({one.turn}, timeout=LOOK_SECONDS)
                self._give()  # the slow time of another agent may be over
                if not one.turn.done() and self.held[agent_id] < UPLOADS_EACH:
                    self._make_room()
            yield
        finally:
            self._leave(one)

    async def read(self, request: web.Request, agent_id: str) -> bytes:
        """The request's body. Raises TimeoutError when it takes too long, or when it is given up for others."""
        async with asyncio.timeout(BODY_SECONDS) as limit:
            body, content = Body(agent_id, limit, asyncio.get_running_loop().time()), bytearray()
            self.bodies.add(body)
            try:
                async for chunk in request.content.iter_any():
                    content += chunk
                    body.received += len(chunk)
            finally:
                self.bodies.discard(body)
        return bytes(content)

    def _may_begin(self, agent_id: str) -> bool:
        if self.held[agent_id] >= UPLOADS_EACH:
            return False
        slow = sum(number for agent, number in self.held.items() if agent in self.slow_until)
        return agent_id not in self.slow_until or slow < SLOW_PLACES

    def _give(self) -> None:
        now = asyncio.get_running_loop().time()
        self.slow_until = {agent: until for agent, until in self.slow_until.items() if until > now}
        while self.free and (able := [one for one in self.waiting if self._may_begin(one.agent_id)]):
            one = min(able, key=lambda one: self.held[one.agent_id])  # of equal ones, the first that came
            self.waiting.remove(one)
            self.free -= 1
            self.held[one.agent_id] += 1
            one.turn.set_result(None)

    def _leave(self, one: Waiting) -> None:
        if one in self.waiting:
            self.waiting.remove(one)
            return
        self.free += 1
        self.held[one.agent_id] -= 1
        if not self.held[one.agent_id]:
            del self.held[one.agent_id]
        self._give()

    def _make_room(self) -> None:
        now = asyncio.get_running_loop().time()
        read = [one for one in self.bodies if now - one.begun >= GRACE_SECONDS and not one.limit.expired()]
        slowest = min(read, key=lambda one: one.speed(now), default=None)
        if slowest is not None and slowest.speed(now) < SLOW_BYTES:
            self.bodies.discard(slowest)
            self.slow_until[slowest.agent_id] = now + SLOW_SECONDS
            slowest.limit.reschedule(now)
