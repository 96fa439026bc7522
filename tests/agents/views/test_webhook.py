"""`PUT` and `DELETE /agents/{id}/webhook`, `POST /agents/{id}/webhook/test`, and `webhookUrl` on create."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import lifecycle
from tests.agents.conftest import MakeAgent, settle
from tests.doubles.receiver import Receiver, status
from webhooks import delivery_loop, signing
from webhooks.event_types import EventType
from webhooks.models import Delivery, Hook

URL = "https://8.8.8.8/hook"
FOUR = {"webhookUrl", "webhookLastStatus", "webhookLastAt", "webhookLastEvent"}


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8")]
    with Receiver().listening() as listening:
        yield listening


def put(client: APIClient, agent: Agent, body: Any) -> Any:
    return client.put(f"/agents/{agent.id}/webhook", body, format="json")


def test_the_answer_holds_the_agent_the_url_the_secret_and_all_event_types(client: APIClient, running: Agent) -> None:
    answer = put(client, running, {"url": URL})
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"agent", "webhook"}
    assert set(body["webhook"]) == {"url", "secret", "events"}
    assert body["webhook"]["url"] == URL
    assert body["webhook"]["secret"].startswith("whsec_")
    assert body["webhook"]["events"] == [
        *("agent.running", "agent.stopped", "agent.failed", "agent.deleted"),
        *("payment.confirmed", "deletion.warning", "test"),
    ]
    assert body["agent"]["webhookUrl"] == URL


def test_the_agent_shows_its_four_webhook_fields_only_while_it_has_a_hook(client: APIClient, running: Agent) -> None:
    path = f"/agents/{running.id}"
    shown = [client.get(path).json()["agent"].keys() & FOUR]
    put(client, running, {"url": URL})
    shown.append(client.get(path).json()["agent"].keys() & FOUR)
    client.delete(f"{path}/webhook")
    shown.append(client.get(path).json()["agent"].keys() & FOUR)
    assert shown == [set(), FOUR, set()]


def test_the_secret_is_shown_this_once(client: APIClient, running: Agent) -> None:
    secret = put(client, running, {"url": URL}).json()["webhook"]["secret"]
    assert secret not in client.get(f"/agents/{running.id}").content.decode()
    assert secret not in client.get("/agents").content.decode()


def test_setting_it_again_rotates_the_secret(client: APIClient, running: Agent) -> None:
    first, second = (put(client, running, {"url": URL}).json()["webhook"]["secret"] for _ in range(2))
    assert first != second
    assert Hook.objects.get().previous_secret == first


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://10.0.0.1/", "http://[::1]/", "http://localhost/", "http://2130706433/"),
        *("https://user:pw@example.com/", "ftp://example.com/", "example.com", "", "https://example.com/#x"),
        "https://example.com/" + "a" * 2048,
    ],
)
def test_a_url_that_is_not_public_is_a_400_that_names_it_and_changes_nothing(
    client: APIClient, running: Agent, url: str
) -> None:
    answer = put(client, running, {"url": url})
    assert answer.status_code == 400
    assert answer.json()["error"] == "BAD_REQUEST"
    assert answer.json()["message"].startswith("url: ")
    assert not Hook.objects.exists()


@pytest.mark.parametrize("body", [{}, {"url": None}, {"url": 5}, {"url": ["https://8.8.8.8/"]}, [], "x"])
def test_a_body_of_another_shape_is_a_400(client: APIClient, running: Agent, body: Any) -> None:
    answer = put(client, running, body)
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")


def test_a_refused_url_leaves_the_hook_as_it_was(client: APIClient, running: Agent) -> None:
    put(client, running, {"url": URL})
    secret = Hook.objects.get().secret
    put(client, running, {"url": "http://10.0.0.1/"})
    assert (Hook.objects.get().url, Hook.objects.get().secret) == (URL, secret)


def test_removal_is_204_without_a_body_and_can_be_repeated(client: APIClient, running: Agent) -> None:
    put(client, running, {"url": URL})
    for _ in range(2):
        answer = client.delete(f"/agents/{running.id}/webhook")
        assert (answer.status_code, answer.content) == (204, b"")
    assert not Hook.objects.exists()


@pytest.mark.parametrize(("method", "path"), [("put", ""), ("delete", ""), ("post", "/test")])
def test_another_persons_agent_and_a_bearer_that_is_missing_are_refused(
    client: APIClient, other: APIClient, api: APIClient, running: Agent, method: str, path: str
) -> None:
    for caller, expected in ((other, 404), (api, 401)):
        answer = getattr(caller, method)(f"/agents/{running.id}/webhook{path}", {"url": URL}, format="json")
        assert answer.status_code == expected
    for junk in ("agt_0", "agt_%00", "x" * 300):
        answer = getattr(client, method)(f"/agents/{junk}/webhook{path}", {"url": URL}, format="json")
        assert answer.status_code == 404


def test_an_agent_created_with_a_webhook_gets_its_events_there(
    make_agent: MakeAgent, receiver: Receiver, transactional_db: None
) -> None:
    agent = settle(make_agent(webhook_url=receiver.url))
    delivery_loop.drain(ahead=timedelta(0))
    (request,) = receiver.received
    assert request.header("X-Service-Event") == "agent.running"
    assert request.header("X-Service-Signature") == signing.signature(request.body, agent.hook.secret)


def test_the_event_of_a_deletion_still_reaches_the_receiver(
    make_agent: MakeAgent, receiver: Receiver, transactional_db: None
) -> None:
    agent = settle(make_agent(webhook_url=receiver.url))
    lifecycle.delete(agent, actor="user:x")
    settle(agent)
    delivery_loop.drain(ahead=timedelta(0))
    assert [request.header("X-Service-Event") for request in receiver.received] == ["agent.running", "agent.deleted"]


# The test endpoint.


@pytest.fixture
def draining_worker(transactional_db: None) -> Iterator[None]:
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


def test_a_test_that_arrives_is_ok(
    draining_worker: None, client: APIClient, running: Agent, receiver: Receiver
) -> None:
    put(client, running, {"url": receiver.url})
    answer = client.post(f"/agents/{running.id}/webhook/test")
    assert answer.status_code == 200
    assert answer.json() == {"delivery": {"ok": True, "status": 204, "attempts": 1}}
    shown = client.get(f"/agents/{running.id}").json()["agent"]
    assert (shown["webhookLastStatus"], shown["webhookLastEvent"]) == ("204", EventType.TEST)
    assert shown["webhookLastAt"].endswith("Z")


def test_a_test_that_fails_is_200_with_ok_false(
    draining_worker: None, client: APIClient, running: Agent, receiver: Receiver
) -> None:
    receiver.answers(status(500))
    put(client, running, {"url": receiver.url})
    delivery = _fail_at_once(client, running)
    assert delivery == {"ok": False, "status": 500, "attempts": 3}


def test_an_unreachable_receiver_has_no_status_but_an_error(
    draining_worker: None, client: APIClient, running: Agent, receiver: Receiver, settings: Any
) -> None:
    put(client, running, {"url": receiver.url})
    settings.WEBHOOK_ALLOWED_CIDRS = []
    delivery = _fail_at_once(client, running)
    assert delivery == {"ok": False, "status": None, "attempts": 3, "error": "address refused"}
    assert client.get(f"/agents/{running.id}").json()["agent"]["webhookLastStatus"] == "error: address refused"


def test_without_a_webhook_the_refusal_names_the_call_that_sets_one(client: APIClient, running: Agent) -> None:
    answer = client.post(f"/agents/{running.id}/webhook/test")
    assert (answer.status_code, answer.json()["error"]) == (409, "CONFLICT")
    assert "PUT /agents/{id}/webhook" in answer.json()["message"]


def _fail_at_once(client: APIClient, agent: Agent) -> Any:
    """Test the webhook without the pauses between attempts. Returns the delivery."""
    ended = threading.Event()

    def hurry() -> None:
        while not ended.wait(0.05):
            for delivery in Delivery.objects.filter(state="pending", lease_until=None):
                Delivery.objects.filter(pk=delivery.pk, lease_until=None).update(next_attempt_at=delivery.created_at)
        connection.close()

    thread = threading.Thread(target=hurry)
    thread.start()
    try:
        return client.post(f"/agents/{agent.id}/webhook/test").json()["delivery"]
    finally:
        ended.set()
        thread.join()
