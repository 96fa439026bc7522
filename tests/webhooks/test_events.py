from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import transaction

from agents.models import Agent, Status
from tests.webhooks.conftest import MakeAgent, emit
from webhooks import events
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event, State

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_the_body_has_exactly_the_keys_of_the_spec(make_agent: MakeAgent) -> None:
    agent = make_agent(name="Ада", status=Status.STOPPED, endpoint_url="http://127.0.0.1:1/")
    event = events.emit(agent, EventType.AGENT_STOPPED, {"from": "running", "to": "stopped"}, now=NOON)
    assert json.loads(event.body) == {
        "id": event.pk,
        "type": "agent.stopped",
        "createdAt": "2026-03-01T12:00:00.000000Z",
        "agent": {
            "id": agent.pk,
            "status": "stopped",
            "name": "Ада",
            "engine": "pi",
            "tier": "tiny",
            "endpointUrl": "http://127.0.0.1:1/",
        },
        "data": {"from": "running", "to": "stopped"},
    }


def test_an_event_id_is_evt_and_hex(agent: Agent) -> None:
    prefix, _, digits = emit(agent).pk.partition("_")
    assert prefix == "evt"
    assert len(digits) == 32
    assert int(digits, 16) >= 0


def test_the_moment_is_told_in_utc_wherever_it_was_taken(agent: Agent) -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5)))
    assert json.loads(emit(agent, now=elsewhere).body)["createdAt"] == "2026-03-01T12:00:00.000000Z"


def test_the_keys_of_the_data_pass_untouched(agent: Agent) -> None:
    data = {"some_key": {"otherKey": None}, "ключ": [1.5]}
    event = events.emit(agent, EventType.TEST, data, now=NOON)
    assert json.loads(event.body)["data"] == data


def test_without_a_hook_the_event_is_kept_and_nothing_is_sent(agent: Agent) -> None:
    event = emit(agent)
    assert Event.objects.get() == event
    assert not Delivery.objects.exists()


def test_with_a_hook_the_event_is_due_at_once(hooked: Agent) -> None:
    event = emit(hooked, now=NOON)
    delivery = Delivery.objects.get()
    assert (delivery.event, delivery.state, delivery.next_attempt_at) == (event, State.PENDING, NOON)


def test_a_change_that_is_rolled_back_leaves_no_event(hooked: Agent) -> None:
    def change() -> None:
        with transaction.atomic():
            emit(hooked)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change()
    assert not Event.objects.exists()
    assert not Delivery.objects.exists()


def test_an_event_costs_two_statements_for_its_order_and_three_to_be_written(
    hooked: Agent, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(5):
        emit(hooked)


def test_the_drain_is_woken_once_the_change_is_committed(
    hooked: Agent, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        emit(hooked)
    assert len(callbacks) == 1
