"""Followers of one account hear of each event, also of one that comes while they write."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from agents.models import Agent
from webhooks import account_log, event_following, events
from webhooks.event_following import FollowedLog, Follows, NewEvents
from webhooks.event_types import EventType

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_following, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(event_following, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(event_following, "AFTER_NEWS_SECONDS", 300.0)  # so that only news lead to a read


def emit(agent: Agent) -> None:
    events.emit(agent, EventType.TEST, {}, now=timezone.now())


async def _heard(follows: Follows) -> list[str]:
    """The names of the next events; signs of life are passed over."""
    async for found in follows:
        assert isinstance(found, NewEvents)
        if found.events:
            return [event.type for event in found.events]
    raise AssertionError("the stream ended")


def test_what_comes_while_one_follower_writes_is_heard_by_it_too(agent: Agent) -> None:
    account = agent.user_id
    emit(agent)
    followed = FollowedLog(
        account=account, later=partial(account_log.later, account), is_allowed=lambda: True, ended=lambda: None
    )

    streams = [event_following.follow(followed, after=None) for _ in range(2)]

    @async_to_sync
    async def followers() -> list[list[str]]:
        ready, slow = [begin() for begin, _ in streams]
        async with asyncio.timeout(30):
            first = [await _heard(ready), await _heard(slow)]
            await sync_to_async(emit)(agent)
            told = await _heard(ready)
            await asyncio.sleep(0.3)  # looks pass by the one that still writes
            late = await _heard(slow)
        for follows, (_, leave) in zip((ready, slow), streams, strict=True):
            await follows.aclose()
            leave()
        return [*first, told, late]

    assert followers() == [["test"]] * 4
