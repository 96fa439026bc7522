"""`GET /events`: what happened to all agents of an account, in an order in which no reader misses anything."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import lifecycle
from tests.agents.conftest import MakeAgent, settle
from webhooks import account_log, events
from webhooks.event_types import EventType
from webhooks.models import Event


def emit(agent: Agent, note: str = "") -> Event:
    return events.emit(agent, EventType.TEST, {"note": note}, now=timezone.now())


def listed(client: APIClient, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(f"/events{query}")
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["events"]
    return found


def ids(client: APIClient, after: Event | str | None = None) -> list[str]:
    last = after.pk if isinstance(after, Event) else after
    return [event["id"] for event in listed(client, f"?after={last}" if last else "")]


@pytest.mark.django_db
def test_the_last_event_of_a_deleted_agent_is_found_by_its_owner_alone(
    client: APIClient, other: APIClient, make_agent: MakeAgent
) -> None:
    first, second = settle(make_agent()), settle(make_agent())
    lifecycle.delete(first, actor="user:x")
    settle(first)
    assert client.get(f"/agents/{first.pk}/events").status_code == 404
    told = [(event["agent"]["id"], event["type"]) for event in listed(client)]
    running = [(agent.pk, "agent.running") for agent in (first, second)]
    assert told == [*running, (first.pk, "agent.deleted")]
    assert listed(other) == []
    assert (other.get(f"/events?after={ids(client)[0]}").status_code, client.get("/events?after=x").status_code) == (
        400, 400,
    )  # fmt: skip


@pytest.mark.django_db
def test_pages_follow_each_other_by_the_last_id_and_old_events_are_gone(
    client: APIClient, make_agent: MakeAgent
) -> None:
    agents = [make_agent(), make_agent()]
    sent = [emit(agents[number % 2]).pk for number in range(5)]
    found, path = [], "/events?limit=2"
    while path:
        answer = client.get(path)
        found += [event["id"] for event in answer.json()["events"]]
        path = answer.get("Link", "").partition("<")[2].partition(">")[0]
    assert found == sent
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        assert account_log.page(agents[0].user_id).bodies == []


@pytest.mark.django_db(transaction=True)
def test_an_event_that_is_committed_late_is_not_skipped(client: APIClient, make_agent: MakeAgent) -> None:
    slow, quick = make_agent(), make_agent()
    written, may_commit, late = threading.Event(), threading.Event(), []

    def write_slowly() -> None:
        try:
            with transaction.atomic():
                late.append(emit(slow, "late"))
                written.set()
                may_commit.wait(30)
        finally:
            connection.close()

    thread = threading.Thread(target=write_slowly)
    thread.start()
    assert written.wait(30)
    early = emit(quick, "early")  # begun later, committed first
    assert early.created_at > late[0].created_at
    assert ids(client) == [early.pk]
    may_commit.set()
    thread.join()
    assert ids(client, early) == [late[0].pk]
    assert ids(client) == [early.pk, late[0].pk]


@pytest.mark.django_db(transaction=True)
def test_readers_at_the_same_time_see_one_order_and_miss_nothing(client: APIClient, make_agent: MakeAgent) -> None:
    agents = [make_agent(), make_agent()]
    account = agents[0].user_id

    def read(_: int) -> list[str]:
        """Read page by page to the end, as a reader who keeps the last id."""
        try:
            seen: list[str] = []
            while page := account_log.later(account, seen[-1] if seen else None)[:7]:
                seen += [event.pk for event in page]
                if len(seen) >= 40:
                    break
            return seen
        finally:
            connection.close()

    def write(number: int) -> None:
        try:
            for _ in range(20):
                emit(agents[number])
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        writing = [pool.submit(write, number) for number in range(2)]
        list(pool.map(read, range(8)))
        [one.result() for one in writing]
        orders = list(pool.map(read, range(4)))
    assert all(order == orders[0] for order in orders)
    assert sorted(orders[0]) == sorted(Event.objects.values_list("pk", flat=True))
    for agent in agents:
        own = list(Event.objects.filter(agent=agent).order_by("created_at").values_list("pk", flat=True))
        assert [one for one in orders[0] if one in own] == own
