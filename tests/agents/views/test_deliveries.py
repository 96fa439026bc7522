"""`GET /agents/{id}/webhook/deliveries` and `POST …/deliveries/{delivery}/redeliver`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from agents.models import Agent
from tests.agents.conftest import MakeAgent
from tests.doubles.receiver import Receiver, status
from webhooks import delivery_loop, events, hooks
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event

FIELDS = {"id", "type", "state", "status", "error", "attempts", "durationMs", "createdAt", "finishedAt"}
UNKNOWN = "evt_" + "0" * 32


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    with Receiver().listening() as listening:
        yield listening


@pytest.fixture
def hooked(running: Agent) -> Agent:
    """A running agent that has just got a webhook."""
    hooks.install(running, url="https://receiver.example/", now=timezone.now())
    return running


def emit(agent: Agent, event_type: EventType = EventType.AGENT_RUNNING) -> Event:
    return events.emit(agent, event_type, {"from": "provisioning", "to": "running"}, now=timezone.now())


def listed(client: APIClient, agent: Agent, query: str = "") -> list[dict[str, Any]]:
    answer = client.get(f"/agents/{agent.pk}/webhook/deliveries{query}")
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["deliveries"]
    return found


def redeliver(client: APIClient, agent: Agent, event_id: str) -> Any:
    return client.post(f"/agents/{agent.pk}/webhook/deliveries/{event_id}/redeliver")


# The log.


def test_an_event_from_before_the_webhook_was_not_on_its_way(client: APIClient, hooked: Agent) -> None:
    assert Event.objects.filter(agent=hooked).count() == 1
    assert listed(client, hooked) == []


def test_each_event_is_one_line_with_the_newest_first(client: APIClient, hooked: Agent) -> None:
    made = [emit(hooked), emit(hooked, EventType.AGENT_STOPPED), emit(hooked, EventType.TEST)]
    lines = listed(client, hooked)
    assert [(line["id"], line["type"]) for line in lines] == [(event.pk, event.type) for event in reversed(made)]
    assert all(set(line) == FIELDS for line in lines)


def test_a_pending_delivery_has_no_outcome_yet(client: APIClient, hooked: Agent) -> None:
    emit(hooked)
    (line,) = listed(client, hooked)
    outcome = {name: line[name] for name in ("state", "status", "error", "attempts", "durationMs", "finishedAt")}
    assert outcome == {
        "state": "pending",
        "status": None,
        "error": None,
        "attempts": 0,
        "durationMs": None,
        "finishedAt": None,
    }


@pytest.mark.usefixtures("transactional_db")
def test_an_ended_one_shows_the_answer_of_the_receiver(client: APIClient, hooked: Agent, receiver: Receiver) -> None:
    hooks.install(hooked, url=receiver.url, now=timezone.now())
    emit(hooked)
    delivery_loop.drain(ahead=timedelta(0))
    (line,) = listed(client, hooked)
    assert (line["state"], line["status"], line["error"], line["attempts"]) == ("delivered", 204, None, 1)
    assert line["durationMs"] >= 0
    assert line["createdAt"] <= line["finishedAt"]


def test_a_failed_one_shows_a_word_and_no_address(client: APIClient, hooked: Agent) -> None:
    emit(hooked)
    Delivery.objects.update(state="failed", attempts=3, error="address refused", finished_at=timezone.now())
    (line,) = listed(client, hooked)
    assert (line["state"], line["status"], line["error"]) == ("failed", None, "address refused")


def test_what_was_pending_when_the_webhook_went_is_canceled(client: APIClient, hooked: Agent) -> None:
    emit(hooked)
    client.delete(f"/agents/{hooked.pk}/webhook")
    (line,) = listed(client, hooked)
    assert (line["state"], line["error"]) == ("canceled", "canceled")


def test_a_line_is_kept_for_seven_days_after_its_end(client: APIClient, hooked: Agent) -> None:
    emit(hooked)
    Delivery.objects.update(state="delivered", finished_at=timezone.now())
    with time_machine.travel(timezone.now() + timedelta(days=6, hours=23), tick=False):
        assert len(listed(client, hooked)) == 1
    with time_machine.travel(timezone.now() + timedelta(days=7, minutes=1), tick=False):
        assert listed(client, hooked) == []
        assert redeliver(client, hooked, Event.objects.latest("created_at").pk).status_code == 404


def test_what_does_not_fit_on_a_page_is_on_the_next(client: APIClient, hooked: Agent) -> None:
    made = [emit(hooked).pk for _ in range(5)]
    seen, url = [], f"/agents/{hooked.pk}/webhook/deliveries?limit=2"
    while url:
        answer = client.get(url)
        seen += [line["id"] for line in answer.json()["deliveries"]]
        url = answer.headers.get("Link", "").partition(">")[0].lstrip("<")
    assert seen == made[::-1]


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", "1.5", ""])
def test_a_limit_out_of_bounds_is_a_400_that_names_it(client: APIClient, hooked: Agent, limit: str) -> None:
    answer = client.get(f"/agents/{hooked.pk}/webhook/deliveries?limit={limit}")
    assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, "limit")


@pytest.mark.parametrize("cursor", ["x", UNKNOWN, "%00", "", "evt_"])
def test_a_cursor_of_somewhere_else_is_a_400_that_names_it(client: APIClient, hooked: Agent, cursor: str) -> None:
    answer = client.get(f"/agents/{hooked.pk}/webhook/deliveries?cursor={cursor}")
    assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, "cursor")


def test_a_long_log_costs_no_query_for_each_line(
    client: APIClient, hooked: Agent, django_assert_max_num_queries: Any
) -> None:
    for _ in range(20):
        emit(hooked)
    with django_assert_max_num_queries(4):
        assert len(listed(client, hooked)) == 20


# Sending again.


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """Send deliveries as a worker does, in a thread, until the test ends."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.05):
            delivery_loop.drain(ahead=timedelta(0))

    thread = threading.Thread(target=work)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.fixture
def failed(transactional_db: None, hooked: Agent, receiver: Receiver) -> Event:
    """An event that its receiver refused three times."""
    hooks.install(hooked, url=receiver.url, now=timezone.now())
    event = emit(hooked)
    Delivery.objects.update(state="failed", attempts=3, claims=3, http_status=500, finished_at=timezone.now())
    return event


def test_the_same_bytes_go_out_again_under_the_same_id_and_the_outcome_is_the_answer(
    failed: Event, worker: None, client: APIClient, receiver: Receiver
) -> None:
    answer = redeliver(client, failed.agent, failed.pk)
    assert (answer.status_code, answer.json()) == (200, {"delivery": {"ok": True, "status": 204, "attempts": 1}})
    (request,) = receiver.received
    assert (request.body, request.header("X-Service-Delivery")) == (failed.body.encode(), failed.pk)
    (line,) = listed(client, failed.agent)
    assert (line["id"], line["state"], line["attempts"]) == (failed.pk, "delivered", 1)
    assert client.get(f"/agents/{failed.agent_id}").json()["agent"]["webhookLastStatus"] == "204"


def test_what_was_delivered_can_be_sent_again_too(
    failed: Event, worker: None, client: APIClient, receiver: Receiver
) -> None:
    for _ in range(2):
        assert redeliver(client, failed.agent, failed.pk).json()["delivery"]["ok"]
    assert len({(request.body, request.header("X-Service-Delivery")) for request in receiver.received}) == 1
    assert len(receiver.received) == 2


@pytest.mark.sampled
def test_a_receiver_that_still_refuses_is_200_with_ok_false_after_three_attempts(
    failed: Event, worker: None, client: APIClient, receiver: Receiver
) -> None:
    receiver.answers(status(503))
    ended = threading.Event()
    hurry = threading.Thread(target=_skip_the_waits, args=(ended,))
    hurry.start()
    answer = redeliver(client, failed.agent, failed.pk)
    ended.set()
    hurry.join()
    assert (answer.status_code, answer.json()) == (200, {"delivery": {"ok": False, "status": 503, "attempts": 3}})


def _skip_the_waits(ended: threading.Event) -> None:
    while not ended.wait(0.05):
        Delivery.objects.filter(state="pending", lease_until=None).update(next_attempt_at=timezone.now())
    connection.close()


def test_who_asked_is_kept_for_the_operator(failed: Event, worker: None, client: APIClient) -> None:
    redeliver(client, failed.agent, failed.pk)
    assert Delivery.objects.get(pk=failed.pk).resent_by == f"user:{failed.agent.user_id}"


def test_asking_twice_at_once_sends_once_and_answers_both(
    failed: Event, client: APIClient, receiver: Receiver, request: pytest.FixtureRequest
) -> None:
    answers: list[Any] = []

    def ask() -> None:
        answers.append(redeliver(client, failed.agent, failed.pk).json())
        connection.close()

    callers = [threading.Thread(target=ask) for _ in range(2)]
    for caller in callers:
        caller.start()
    while not Delivery.objects.filter(state="pending").exists():
        callers[0].join(0.05)
    request.getfixturevalue("worker")
    for caller in callers:
        caller.join()
    assert answers == [{"delivery": {"ok": True, "status": 204, "attempts": 1}}] * 2
    assert len(receiver.received) <= 2


def test_one_that_is_on_its_way_for_the_first_time_is_not_sent_twice(client: APIClient, hooked: Agent) -> None:
    answer = redeliver(client, hooked, emit(hooked).pk)
    assert (answer.status_code, answer.json()["error"]) == (409, "CONFLICT")


def test_without_a_webhook_the_refusal_names_the_call_that_sets_one(client: APIClient, hooked: Agent) -> None:
    event = emit(hooked)
    hooks.remove(hooked)
    answer = redeliver(client, hooked, event.pk)
    assert answer.status_code == 409
    assert "PUT /agents/{id}/webhook" in answer.json()["message"]


@pytest.mark.parametrize("event_id", [UNKNOWN, "x", "evt_", "%00", "agt_0123456789abcdef01234567"])
def test_a_delivery_that_is_not_there_is_404(client: APIClient, hooked: Agent, event_id: str) -> None:
    assert redeliver(client, hooked, event_id).status_code == 404


def test_another_agents_delivery_is_404(client: APIClient, hooked: Agent, make_agent: MakeAgent) -> None:
    event = emit(hooked)
    Delivery.objects.update(state="failed", finished_at=timezone.now())
    assert redeliver(client, make_agent(), event.pk).status_code == 404
    assert Delivery.objects.get(pk=event.pk).state == "failed"


@pytest.mark.parametrize("caller", ["other", "api"])
def test_strangers_see_and_send_nothing(hooked: Agent, request: pytest.FixtureRequest, caller: str) -> None:
    stranger: APIClient = request.getfixturevalue(caller)
    expected = 404 if caller == "other" else 401
    assert stranger.get(f"/agents/{hooked.pk}/webhook/deliveries").status_code == expected
    assert redeliver(stranger, hooked, emit(hooked).pk).status_code == expected
