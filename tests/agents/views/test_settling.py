"""`Prefer: wait=N`: the action is done at once, and its answer comes when the agent has settled."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import settling
from config import waiting
from tests.agents.conftest import PERSONA, MakeAgent, settle
from tests.doubles.runtime import ScriptedRuntime

pytestmark = [pytest.mark.sampled, pytest.mark.django_db(transaction=True)]


def told(answer: Any) -> Any:
    """The body of an answer, which may come later."""
    return json.loads(b"".join(answer.streaming_content) if answer.streaming else answer.content)


def soon(work: Callable[[], object]) -> threading.Thread:
    """Do this in another thread in a moment, as a worker would."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Timer(settling.LOOK_SECONDS * 2, run)
    thread.start()
    return thread


def test_creating_answers_with_the_running_agent(client: APIClient, runtime: ScriptedRuntime) -> None:
    wanted = {"personaId": PERSONA, "tier": "tiny", "webhookUrl": "https://1.1.1.1/hook"}
    answer = client.post("/agents", wanted, format="json", HTTP_PREFER="respond-async, wait=30")
    worker = soon(lambda: settle(Agent.objects.get()))
    body = told(answer)
    worker.join()
    assert (answer.status_code, answer["Preference-Applied"]) == (200, "wait=30")
    assert answer["Content-Type"] == "application/json"
    assert (body["agent"]["status"], body["webhookSecret"][:6]) == ("running", "whsec_")


def test_an_agent_that_has_not_settled_in_time_is_shown_as_it_is(client: APIClient, make_agent: MakeAgent) -> None:
    answer = client.get(f"/agents/{make_agent().pk}", HTTP_PREFER="wait=1")
    assert told(answer)["agent"]["status"] == "provisioning"


@pytest.mark.parametrize(("verb", "status"), [("pause", "stopped"), ("rebuild", "running"), ("resume", "running")])
def test_each_verb_waits_for_its_own_end(client: APIClient, running: Agent, verb: str, status: str) -> None:
    answer = client.post(f"/agents/{running.pk}/{verb}", HTTP_PREFER="wait=30")
    worker = soon(lambda: settle(running))
    assert told(answer)["agent"]["status"] == status
    worker.join()


def test_the_answer_has_the_etag_of_the_read_after_it(client: APIClient, runtime: ScriptedRuntime) -> None:
    made = client.post("/agents", {"personaId": PERSONA, "tier": "tiny"}, format="json", HTTP_PREFER="wait=30")
    worker = soon(lambda: settle(Agent.objects.get()))
    path = f"/agents/{told(made)['agent']['id']}"
    worker.join()
    paused = client.post(f"{path}/pause", HTTP_PREFER="wait=30")
    worker = soon(lambda: settle(Agent.objects.get()))
    told(paused)
    worker.join()
    read, waited = client.get(path), client.get(path, HTTP_PREFER="wait=1")
    told(waited)
    assert paused["ETag"] == read["ETag"] == waited["ETag"] != made["ETag"]
    assert client.patch(path, {"name": "Ann"}, format="json", HTTP_IF_MATCH=made["ETag"]).status_code == 412
    assert client.patch(path, {"name": "Ann"}, format="json", HTTP_IF_MATCH=paused["ETag"]).status_code == 200
    chosen = client.get(f"{path}?fields=id", HTTP_PREFER="wait=1")
    told(chosen)
    assert not chosen.has_header("ETag")


def test_deleting_answers_when_the_data_is_gone(client: APIClient, running: Agent) -> None:
    answer: Any = client.delete(f"/agents/{running.pk}", HTTP_PREFER="wait=30")
    worker = soon(lambda: settle(running))
    assert (answer.status_code, b"".join(answer.streaming_content)) == (204, b"")
    assert not answer.has_header("Content-Type")
    worker.join()
    assert Agent.objects.get().status == "deleted"


def test_an_agent_whose_row_is_gone_after_the_wait_is_shown_as_deleted(
    client: APIClient, make_agent: MakeAgent
) -> None:
    agent = make_agent()
    answer = client.get(f"/agents/{agent.pk}", HTTP_PREFER="wait=30")
    worker = soon(lambda: Agent.objects.filter(pk=agent.pk).delete())
    shown = told(answer)["agent"]
    worker.join()
    assert (shown["id"], shown["status"]) == (agent.pk, "deleted")


def test_a_repeated_create_waits_for_the_same_agent(client: APIClient, runtime: ScriptedRuntime) -> None:
    headers = {"Idempotency-Key": "once", "Prefer": "wait=1"}
    wanted = {"personaId": PERSONA, "tier": "tiny"}
    first, second = (client.post("/agents", wanted, format="json", headers=headers) for _ in range(2))
    assert second["Idempotent-Replayed"] == "true"
    assert told(first)["agent"]["id"] == told(second)["agent"]["id"]


def test_a_refusal_does_not_wait(client: APIClient, make_agent: MakeAgent) -> None:
    refused = client.post(f"/agents/{make_agent().pk}/rebuild", HTTP_PREFER="wait=60")
    assert (refused.status_code, refused.has_header("Preference-Applied")) == (409, False)


@pytest.mark.parametrize("preference", ["", "wait", "wait=", "wait=-5", "wait=x", "wait=0", "await=9", "x" * 5000])
def test_a_preference_that_is_not_understood_is_ignored(client: APIClient, running: Agent, preference: str) -> None:
    answer = client.get(f"/agents/{running.pk}", HTTP_PREFER=preference)
    assert (answer.status_code, answer.streaming, answer.has_header("Preference-Applied")) == (200, False, False)


def test_nobody_waits_longer_than_a_minute(client: APIClient, running: Agent) -> None:
    answer = client.get(f"/agents/{running.pk}", HTTP_PREFER='wait="999999999"')
    assert answer["Preference-Applied"] == "wait=60"
    assert told(answer)["agent"]["status"] == "running"


def test_when_too_many_wait_the_action_is_done_and_answered_at_once(
    client: APIClient, running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "settlings", waiting.WaitLimit(0, each=lambda: 1))
    answer = client.post(f"/agents/{running.pk}/pause", HTTP_PREFER="wait=30")
    assert (answer.status_code, answer.streaming, answer.has_header("Preference-Applied")) == (200, False, False)
    assert settle(running).status == "stopped"


def test_a_place_is_given_back_after_each_wait(
    client: APIClient, running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "settlings", waiting.WaitLimit(1, each=lambda: 1))
    for _ in range(3):
        answer = client.get(f"/agents/{running.pk}", HTTP_PREFER="wait=9")
        assert told(answer)["agent"]["status"] == "running"
        answer.close()
        assert answer["Preference-Applied"] == "wait=9"
