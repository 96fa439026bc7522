"""Events as server-sent events: what there is, then what happens, each once, until the stream's time is over."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import sessions
from accounts.models import Session
from agents.models import Agent
from agents.running import lifecycle
from config import waiting
from tests.agents.conftest import MakeAgent, settle
from webhooks import event_following, events
from webhooks.event_types import EventType
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)

SSE = {"Accept": "text/event-stream"}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_following, "BEAT_SECONDS", 0.3)
    monkeypatch.setattr(event_following, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(event_following, "AFTER_NEWS_SECONDS", 0.3)
    monkeypatch.setattr(event_following, "STREAM_SECONDS", 20.0)


def emit(agent: Agent) -> Event:
    return events.emit(agent, EventType.TEST, {"note": "x"}, now=timezone.now())


def told(answer: Any) -> list[tuple[str, str, str]]:
    """The events of a stream that has ended: name, id and data."""
    found = []
    for block in b"".join(answer.streaming_content).decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith(":"))
        if "event" in fields:
            found.append((fields["event"], fields.get("id", ""), fields["data"]))
    return found


def meanwhile(work: Any) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Timer(0.5, run)
    thread.start()
    return thread


def test_what_there_is_and_what_happens_then_until_the_agent_is_gone(client: APIClient, running: Agent) -> None:
    first = Event.objects.get()
    answer = client.get(f"/agents/{running.pk}/events", headers=SSE)
    assert (answer["Content-Type"], answer["Request-Id"][:4]) == ("text/event-stream", "req_")

    def end() -> None:
        emit(running)
        lifecycle.delete(Agent.objects.get(), actor="user:x")
        settle(running)

    worker = meanwhile(end)
    found = told(answer)
    worker.join()
    assert [name for name, _, _ in found] == ["agent.running", "test", "agent.deleted", "end"]
    assert found[0] == ("agent.running", first.pk, first.body)


@pytest.mark.parametrize("place", ["query", "header"])
def test_a_stream_goes_on_after_the_last_id(
    client: APIClient, running: Agent, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(event_following, "STREAM_SECONDS", 0.1)
    first, second = Event.objects.get(), emit(running)
    for path in (f"/agents/{running.pk}/events", "/events"):
        client.get("/events")
        query, headers = (f"?after={first.pk}", SSE) if place == "query" else ("", {**SSE, "Last-Event-ID": first.pk})
        answer = client.get(f"{path}{query}", headers=headers)
        assert [one[1] for one in told(answer)] == [second.pk]


def test_all_agents_of_the_account_are_followed_in_one_stream(
    client: APIClient, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_following, "STREAM_SECONDS", 6.0)
    agents = [make_agent(), make_agent()]
    answer = client.get("/events", headers=SSE)
    worker = meanwhile(lambda: [emit(agent) for agent in agents])
    found = told(answer)
    worker.join()
    assert [name for name, _, _ in found] == ["test", "test"]
    assert [agent.pk in data for agent, (_, _, data) in zip(agents, found, strict=True)] == [True, True]


@pytest.mark.parametrize("path", ["/events", "/agents/{id}/events"])
def test_a_stream_ends_with_its_credential_which_sees_nothing_more(
    client: APIClient, running: Agent, path: str
) -> None:
    answer = client.get(path.format(id=running.pk), headers=SSE)

    def end() -> None:
        with transaction.atomic():
            sessions.end(Session.objects.get())
            emit(running)

    worker = meanwhile(end)
    assert [name for name, _, _ in told(answer)] == ["agent.running", "end"]
    worker.join()


def test_a_stream_that_hears_nothing_ends_with_its_credential_too(
    client: APIClient, running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_following, "SILENCE_SECONDS", 0.3)
    answer = client.get("/events", headers=SSE)
    worker = meanwhile(lambda: sessions.end(Session.objects.get()))
    assert [name for name, _, _ in told(answer)] == ["agent.running", "end"]
    worker.join()


def test_an_account_has_only_so_many_streams_and_each_place_is_given_back(
    client: APIClient, running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "listeners", waiting.WaitLimit(9, each=lambda: 2))
    for _ in range(3):
        open_now = [client.get("/events", headers=SSE) for _ in range(2)]
        refused = client.get(f"/agents/{running.pk}/events", headers=SSE)
        assert (refused.status_code, refused["Retry-After"]) == (503, "10")
        for answer in open_now:
            answer.close()
    unknown = client.get("/events?after=evt_nothing", headers=SSE)
    assert (unknown.status_code, unknown.json()["error"]) == (400, "BAD_REQUEST")
    assert client.head("/events", headers=SSE)["Content-Type"] == "application/json"
