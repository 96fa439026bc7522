from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agents.models import Agent
from tests.webhooks.conftest import emit
from webhooks import purging
from webhooks.models import Delivery, Event, Hook, State

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_delivery_is_kept_seven_days_after_it_ended_and_its_event_thirty(hooked: Agent) -> None:
    emit(hooked, now=NOON)
    Delivery.objects.update(state=State.DELIVERED, finished_at=NOON)
    kept = []
    for days in (6.9, 7.1, 29.9, 30.1):
        purging.purge(now=NOON + timedelta(days=days))
        kept.append((Event.objects.count(), Delivery.objects.count()))
    assert kept == [(1, 1), (1, 0), (1, 0), (0, 0)]


def test_an_event_without_a_hook_is_kept_thirty_days(agent: Agent) -> None:
    emit(agent, now=NOON)
    assert purging.purge(now=NOON + timedelta(days=29)) == 0
    assert purging.purge(now=NOON + timedelta(days=31)) == 1


def test_what_is_still_to_be_sent_is_never_deleted(hooked: Agent) -> None:
    emit(hooked, now=NOON)
    assert purging.purge(now=NOON + timedelta(days=365)) == 0


def test_many_rows_go_in_batches(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purging, "BATCH", 2)
    for _ in range(5):
        emit(agent, now=NOON)
    assert purging.purge(now=NOON + timedelta(days=31)) == 5


def test_a_deleted_agents_hook_goes_once_its_last_event_is_through(hooked: Agent) -> None:
    emit(hooked, now=NOON)
    Agent.objects.filter(pk=hooked.pk).update(status="deleted")
    purging.purge(now=NOON)
    assert Hook.objects.count() == 1
    Delivery.objects.update(state=State.DELIVERED, finished_at=NOON)
    purging.purge(now=NOON)
    assert Hook.objects.count() == 0
