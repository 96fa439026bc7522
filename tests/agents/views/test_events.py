"""`GET /agents/{id}/events`: the events that a webhook would get, for callers that fetch them."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from agents.models import Agent, Reason
from agents.running import lifecycle
from tests.agents.conftest import MakeAgent, settle
from webhooks import events, hooks, testing
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event

DATA = {"from": "provisioning", "to": "running"}


def emit(agent: Agent, event_type: EventType = EventType.AGENT_RUNNING) -> Event:
    return events.emit(agent, event_type, DATA, now=timezone.now())


def listed(client: APIClient, agent: Agent, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(f"/agents/{agent.pk}/events{query}")
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["events"]
    return found


def ids(client: APIClient, agent: Agent, query: str = "") -> list[str]:
    return [event["id"] for event in listed(client, agent, query)]


def test_the_life_of_an_agent_without_a_webhook_is_in_its_log_oldest_first(client: APIClient, running: Agent) -> None:
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
    settle(running)
    lifecycle.resume(running, actor="user:x")
    settle(running)
    assert [event["type"] for event in listed(client, running)] == ["agent.running", "agent.stopped", "agent.running"]


def test_an_event_is_the_very_text_that_the_receiver_gets(client: APIClient, running: Agent) -> None:
    event = events.emit(running, EventType.TEST, {"note": 'ünicode "quoted" \u2028 1.10'}, now=timezone.now())
    answer = client.get(f"/agents/{running.pk}/events?after={Event.objects.earliest('created_at').pk}")
    assert answer.content == b'{"events":[' + event.body.encode() + b"]}"
    assert answer.headers["Content-Type"] == "application/json"


def test_test_events_are_in_the_log(client: APIClient, running: Agent) -> None:
    hooks.install(running, url="https://receiver.example/", now=timezone.now())
    testing.start(running, now=timezone.now())
    assert [event["type"] for event in listed(client, running)] == ["agent.running", "test"]


def test_a_reader_goes_on_after_the_last_event_seen(client: APIClient, running: Agent) -> None:
    (first,) = ids(client, running)
    assert ids(client, running, f"?after={first}") == []
    later = [emit(running).pk for _ in range(3)]
    assert ids(client, running, f"?after={first}") == later
    assert ids(client, running, f"?after={later[0]}&limit=1") == [later[1]]


def test_a_hundred_come_unless_more_are_asked_for_and_a_link_leads_on(client: APIClient, running: Agent) -> None:
    made = [Event.objects.get().pk, *(emit(running).pk for _ in range(104))]
    answer = client.get(f"/agents/{running.pk}/events")
    assert [event["id"] for event in answer.json()["events"]] == made[:100]
    following = answer.headers["Link"].removeprefix("<").removesuffix('>; rel="next"')
    rest = client.get(following)
    assert [event["id"] for event in rest.json()["events"]] == made[100:]
    assert "Link" not in rest.headers
    assert ids(client, running, "?limit=1000") == made


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", "1.5", ""])
def test_a_limit_out_of_bounds_is_a_400_that_names_it(client: APIClient, running: Agent, limit: str) -> None:
    answer = client.get(f"/agents/{running.pk}/events?limit={limit}")
    assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, "limit")


@pytest.mark.parametrize("after", ["x", "evt_" + "0" * 32, "%00", "", "evt_", "e" * 300])
def test_an_event_that_is_not_in_the_log_is_a_400_that_names_after(
    client: APIClient, running: Agent, after: str
) -> None:
    answer = client.get(f"/agents/{running.pk}/events?after={after}")
    assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, "after")


def test_another_agents_event_is_no_place_in_this_ones_log(
    client: APIClient, running: Agent, make_agent: MakeAgent
) -> None:
    event = emit(make_agent())
    assert client.get(f"/agents/{running.pk}/events?after={event.pk}").status_code == 400
    assert event.pk not in ids(client, running)


def test_events_are_kept_for_thirty_days(client: APIClient, running: Agent) -> None:
    with time_machine.travel(timezone.now() + timedelta(days=29, hours=23), tick=False):
        client.force_authenticate(running.user)
        assert len(listed(client, running)) == 1
    with time_machine.travel(timezone.now() + timedelta(days=30, minutes=1), tick=False):
        assert listed(client, running) == []


def test_a_deleted_agent_answers_404_before_its_pod_is_gone_and_after(client: APIClient, running: Agent) -> None:
    lifecycle.delete(running, actor="user:x")
    assert client.get(f"/agents/{running.pk}/events").status_code == 404
    settle(running)
    assert client.get(f"/agents/{running.pk}/events").status_code == 404
    assert Event.objects.filter(type="agent.deleted").exists()


@pytest.mark.parametrize(("caller", "expected"), [("other", 404), ("api", 401)])
def test_strangers_read_nothing(running: Agent, request: pytest.FixtureRequest, caller: str, expected: int) -> None:
    assert request.getfixturevalue(caller).get(f"/agents/{running.pk}/events").status_code == expected


def test_a_long_log_costs_no_query_for_each_event(
    client: APIClient, running: Agent, django_assert_max_num_queries: Any
) -> None:
    for _ in range(20):
        emit(running)
    with django_assert_max_num_queries(5):
        assert len(listed(client, running, f"?after={Event.objects.earliest('created_at').pk}")) == 20


# The order, on which readers rely.


def test_events_of_one_moment_have_an_order_of_their_own(client: APIClient, running: Agent) -> None:
    with time_machine.travel(timezone.now(), tick=False):
        made = [emit(running).pk for _ in range(5)]
        moments = [event["createdAt"] for event in listed(client, running)]
    assert ids(client, running)[1:] == made
    assert moments == sorted(set(moments))


def test_a_clock_that_is_set_back_does_not_hide_what_happens_next(client: APIClient, running: Agent) -> None:
    (last,) = ids(client, running)
    with time_machine.travel(timezone.now() - timedelta(hours=1), tick=False):
        late = emit(running).pk
    assert ids(client, running, f"?after={last}") == [late]


@pytest.mark.django_db(transaction=True)
def test_an_event_that_is_committed_later_is_never_before_one_that_was_read(client: APIClient, running: Agent) -> None:
    """The first event needs long between its clock and its commit. The second event waits and does not overtake it."""
    order: list[str] = []
    began, may_commit = threading.Event(), threading.Event()

    def slow() -> None:
        with transaction.atomic():
            moment = timezone.now()
            order.append(events.emit(running, EventType.AGENT_STOPPED, DATA, now=moment).pk)
            began.set()
            may_commit.wait(10)
        connection.close()

    def quick() -> None:
        moment = timezone.now() - timedelta(seconds=5)  # it read its clock long before its turn
        order.append(events.emit(running, EventType.AGENT_RUNNING, DATA, now=moment).pk)
        connection.close()

    threads = [threading.Thread(target=slow), threading.Thread(target=quick)]
    threads[0].start()
    began.wait(10)
    threads[1].start()
    (seen,) = ids(client, running)  # neither of the two is committed
    assert ids(client, running, f"?after={seen}") == []
    may_commit.set()
    for thread in threads:
        thread.join()
    assert ids(client, running, f"?after={seen}") == order


@pytest.mark.django_db(transaction=True)
def test_a_reader_among_many_writers_misses_nothing_and_sees_nothing_twice(client: APIClient, running: Agent) -> None:
    (seen,) = ids(client, running)
    read: list[str] = []

    def write() -> None:
        for _ in range(15):
            with transaction.atomic():
                emit(running)
        connection.close()

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers) or len(read) < 60:
        read += ids(client, running, f"?after={(read or [seen])[-1]}&limit=7")
        assert len(read) <= 60
    assert len(set(read)) == 60
    assert read == [pk for pk in Event.objects.oldest_first().values_list("pk", flat=True) if pk != seen]


def test_the_event_tells_of_the_agent_as_it_is_not_as_a_caller_read_it_before(
    client: APIClient, running: Agent
) -> None:
    read_before = Agent.objects.get(pk=running.pk)
    Agent.objects.filter(pk=running.pk).update(name="Renamed")
    emit(read_before)
    assert listed(client, running)[-1]["agent"]["name"] == "Renamed"


def test_no_delivery_is_made_for_an_agent_without_a_webhook(client: APIClient, running: Agent) -> None:
    emit(running)
    assert not Delivery.objects.exists()
    assert json.loads(Event.objects.latest("created_at").body)["agent"]["id"] == running.pk
