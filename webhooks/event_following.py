"""Following events as they happen, of one agent or of all agents of an account, without a thread.

All who follow in one event loop share one look a second at the newest events, which wakes those whose account has one.
Each reads its own log then, and once more a little later: the agent may be gone. Who hears nothing reads it every five
minutes: a transaction may commit later than the shared look goes back, and a credential may end.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from weakref import WeakKeyDictionary

from django.db import Error, connection
from django.utils import timezone
from psycopg_pool import PoolTimeout

from config import waiting
from config.errors import BadRequest
from webhooks.models import Event, EventQuerySet

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
LOOK_BACK = timedelta(seconds=60)
BEAT_SECONDS = 10.0  # of silence; then a sign of life is sent
AFTER_NEWS_SECONDS = 10.0  # after an event, the log is read again
SILENCE_SECONDS = 300.0  # after a read without one
READERS = 4  # at once in one event loop: more would keep the threads of other requests waiting
STREAM_SECONDS = 15 * 60.0  # then the client connects again
AT_ONCE = 100  # events


@dataclass(frozen=True, slots=True)
class NewEvents:
    """The next events. Without any it is a sign of life."""

    events: list[Event]


@dataclass(frozen=True, slots=True)
class LastWord:
    """Nothing follows. `reason` is a text for people."""

    reason: str


Follows = AsyncGenerator[NewEvents | LastWord, None]
Later = Callable[[str | None], EventQuerySet]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedLog:
    """Whose events are followed.

    `later` are those after an id. `is_allowed` says whether the follower may still see them, and `ended` why no more
    will come, or nothing.
    """

    account: str
    later: Later
    is_allowed: Callable[[], bool]
    ended: Callable[[], str | None]


def follow(followed: FollowedLog, *, after: str | None) -> tuple[Callable[[], Follows], Callable[[], None]]:
    """Start to follow. Returns the function that gives the events and the one to call at the end.

    Raises NoSuchEvent, and Unavailable when the account follows too many logs.
    """
    leave = waiting.listeners.hold(followed.account)
    try:
        followed.later(after)
    except BaseException:
        leave()
        raise
    return partial(_events, followed, after), leave


async def _events(followed: FollowedLog, after: str | None) -> Follows:
    looker = _lookers.setdefault(asyncio.get_running_loop(), _NewsLooker())
    until = time.monotonic() + STREAM_SECONDS
    share = random.random()  # noqa: S311 # thousands that begin together do not beat and read together
    beat = share * BEAT_SECONDS
    with looker.listening(followed.account) as news:
        while time.monotonic() < until:
            news.clear()  # before the read, so that what comes during it is read too
            async with looker.reading:
                found = await asyncio.to_thread(_read, followed, after)
            yield found
            if isinstance(found, LastWord):
                return
            if found.events:
                after = found.events[-1].pk
            if len(found.events) == AT_ONCE:
                continue
            silence = AFTER_NEWS_SECONDS if found.events else SILENCE_SECONDS * (3 + share) / 4
            read_at = min(time.monotonic() + silence, until)
            while not await looker.came(news, within=beat) and time.monotonic() < read_at:
                beat = BEAT_SECONDS
                yield NewEvents([])


def _read(followed: FollowedLog, after: str | None) -> NewEvents | LastWord:
    """The next events; runs in a thread. None of them while the database is away."""
    try:
        if not followed.is_allowed():
            return LastWord("this credential is not valid any more")
        reason = followed.ended()  # asked first: what was emitted before the end is read after this
        events = list(followed.later(after)[:AT_ONCE])
        return LastWord(reason) if reason and not events else NewEvents(events)
    except BadRequest:
        return LastWord("the last event that you have is not kept any more: begin anew without it")
    except (Error, PoolTimeout) as error:
        log.info("events are not followed for a moment", extra={"account": followed.account, "error": repr(error)})
        return NewEvents([])
    finally:
        connection.close()


class _NewsLooker:
    """Those who follow in one event loop."""

    def __init__(self) -> None:
        self.reading = asyncio.Semaphore(READERS)
        self._listening: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._looking: asyncio.Task[None] | None = None
        self._known: set[str] = set()

    @contextmanager
    def listening(self, account: str) -> Iterator[asyncio.Event]:
        """What is set whenever the account has a new event, also while its follower reads or writes."""
        news = asyncio.Event()
        self._listening[account].add(news)
        try:
            yield news
        finally:
            self._listening[account].discard(news)
            if not self._listening[account]:
                del self._listening[account]

    async def came(self, news: asyncio.Event, *, within: float) -> bool:
        """Wait for the news, `within` seconds at the longest. Returns whether there are any."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout(within):
                return await news.wait()
        except TimeoutError:
            return False

    async def _look(self) -> None:
        while self._listening:
            found = await asyncio.to_thread(_newest, list(self._listening))
            for account in {account for event, account in found.items() if event not in self._known}:
                for news in self._listening.get(account, set()):
                    news.set()
            self._known = set(found)
            await asyncio.sleep(LOOK_SECONDS)


_lookers: WeakKeyDictionary[asyncio.AbstractEventLoop, _NewsLooker] = WeakKeyDictionary()


def _newest(accounts: list[str]) -> dict[str, str]:
    """The accounts' events of the last minute, each with its account; runs in a thread."""
    try:
        recent = Event.objects.filter(created_at__gt=timezone.now() - LOOK_BACK, agent__user_id__in=accounts)
        return dict(recent.values_list("pk", "agent__user_id"))
    except (Error, PoolTimeout) as error:
        log.info("nobody who follows hears anything for a moment", extra={"error": repr(error)})
        return {}
    finally:
        connection.close()
