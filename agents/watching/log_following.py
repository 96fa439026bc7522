"""Following an agent's log as it grows, over restarts of the engine and from one pod to the next, without a thread.

We ask the gateway for new lines, and it answers when there are some. A thread looks at the agent's row only from time
to time, and when the gateway does not answer. It checks whether the agent is still there, whether the follower may
still see the log, and which pod the agent has.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial

import aiohttp
from django.db import Error, connection
from psycopg_pool import PoolTimeout

from agents.models import Agent
from agents.pod.logs.lines import LogSource
from agents.pod.turns.failures import HopFailure
from agents.runtimes import pod_logs
from agents.runtimes.pod_logs import LogQuery
from agents.watching import logs
from agents.watching.logs import Cursor, Gateway, LogPage
from config import waiting
from config.errors import Unavailable

log = logging.getLogger(__name__)

BEAT_SECONDS = 10  # of silence; then a sign of life is sent
LOOK_SECONDS = 15.0  # the agent and the follower's rights are checked again after this time
AGAIN_SECONDS = 1.0
IDLE_SECONDS = 2.0  # between two looks at an agent whose pod sends no log
# The limits of one answer of the gateway, and the least time before the next one.
MOST_LINES, MOST_BYTES, PAUSE_SECONDS = 200, 64 * 1024, 0.2


@dataclass(frozen=True, slots=True)
class News:
    """New lines. Without any line it is a sign of life."""

    page: LogPage


@dataclass(frozen=True, slots=True)
class LogState:
    """Sent first, and then whenever the state changes."""

    status: str
    live: bool


@dataclass(frozen=True, slots=True)
class End:
    """Nothing follows. `reason` is a text for people."""

    reason: str


Event = News | LogState | End
Events = AsyncGenerator[Event, None]


@dataclass(frozen=True, slots=True)
class _Sight:
    status: str
    gateway: Gateway | None
    page: LogPage

    @property
    def state(self) -> LogState:
        return LogState(self.status, self.page.live)


def follow(
    agent: Agent, *, after: str | None, limit: int, source: LogSource | None, is_allowed: Callable[[], bool]
) -> tuple[Callable[[], Events], Callable[[], None]]:
    """Start to follow a log. Returns the function that gives the events and the one to call at the end.

    `is_allowed` says whether the follower may still see the log. Raises UnknownLogCursor, ForeignLogCursor, and
    Unavailable when too many people follow logs.
    """
    leave = waiting.followers.hold(agent.user_id)
    try:
        page = logs.page(agent, after=after, limit=limit, source=source)
        first = _Sight(agent.status, logs.gateway_of(agent), page)
    except BaseException:
        leave()
        raise
    return partial(_Follower(agent.id, source, is_allowed).events, first), leave


class _Follower:
    def __init__(self, agent_id: str, source: LogSource | None, is_allowed: Callable[[], bool]) -> None:
        self._agent_id = agent_id
        self._source = source
        self._is_allowed = is_allowed
        self._cursor: Cursor | None = None

    async def events(self, sight: _Sight) -> Events:
        state = sight.state
        looked_at = time.monotonic()
        yield state
        yield self._heard(sight.page)
        async with pod_logs.client() as session:
            while True:
                if page := await self._news(session, sight):
                    yield self._heard(page)
                    if time.monotonic() - looked_at < LOOK_SECONDS:
                        continue
                found = await asyncio.to_thread(self._look)
                if isinstance(found, End):
                    yield found
                    return
                looked_at = time.monotonic()
                sight = found or _Sight(state.status, None, LogPage(entries=[], cursor=None, live=False))
                if found and found.state != state:
                    state = found.state
                    yield state
                yield self._heard(sight.page)

    def _heard(self, page: LogPage) -> News:
        self._cursor = page.cursor or self._cursor
        return News(page)

    async def _news(self, session: aiohttp.ClientSession, sight: _Sight) -> LogPage | None:
        """The pod's next lines. None, after a pause, when they have to be looked for elsewhere."""
        if not (sight.page.live and sight.gateway and self._cursor):
            await asyncio.sleep(IDLE_SECONDS)
            return None
        asked = LogQuery(
            after=self._cursor.offset,
            life=self._cursor.life,
            limit=MOST_LINES,
            source=self._source,
            most_bytes=MOST_BYTES,
        )
        known = sight.gateway
        try:
            page = await pod_logs.news(session, known.endpoint, known.access, asked, wait=BEAT_SECONDS)
        except HopFailure:
            await asyncio.sleep(AGAIN_SECONDS)
            return None
        if page.lines or page.next != asked.after:
            await asyncio.sleep(PAUSE_SECONDS)
        return logs.one(page, live=True)

    def _look(self) -> _Sight | End | None:
        """Look at the agent's row; runs in a thread. None while the database is away, or when too many calls wait."""
        try:
            if not self._is_allowed():
                return End("this credential is not valid any more")
            agent = Agent.objects.live().filter(pk=self._agent_id).first()
            if agent is None:
                return End("the agent is deleted")
            page = logs.page(agent, after=self._cursor, limit=MOST_LINES, source=self._source)
            return _Sight(agent.status, logs.gateway_of(agent), page)
        except (Error, PoolTimeout, Unavailable) as error:
            log.info("a log is not followed for a moment", extra={"agent": self._agent_id, "error": repr(error)})
            return None
        finally:
            connection.close()
