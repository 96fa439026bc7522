"""`GET /agents/{id}/memory`: what an agent is and what it has learned, for the agent's owner."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent, Desired, Reason
from agents.running import lifecycle
from tests.agents.conftest import settle
from tests.agents.views.conftest import GatewayOf
from tests.doubles.bridge import BridgeDouble

LEARNED: dict[str, Any] = {
    "skills": ["bread", "tea"],
    "memories": [{"name": "USER.md", "content": "likes tea"}],
    "sessions": 3,
    "is_cut": False,
}
LIES: dict[str, Any] = {
    "no object": [],
    "a skill without a name": {**LEARNED, "skills": [1]},
    "no skills": {**LEARNED, "skills": None},
    "no content": {**LEARNED, "memories": [{"name": "x"}]},
    "content in pieces": {**LEARNED, "memories": [{"name": "x", "content": ["y"]}]},
    "memories of text": {**LEARNED, "memories": "x"},
    "sessions in words": {**LEARNED, "sessions": "many"},
    "sessions without end": {**LEARNED, "sessions": float("inf")},
    "half a session": {**LEARNED, "sessions": 0.5},
    "no sessions": {name: value for name, value in LEARNED.items() if name != "sessions"},
    "too much": {**LEARNED, "memories": [{"name": "x", "content": "y" * 5_000_000}]},
}


def ask(client: APIClient, agent: Agent) -> Any:
    return client.get(f"/agents/{agent.pk}/memory")


def test_soul_skills_memories_and_sessions_are_told(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    Agent.objects.filter(pk=running.pk).update(soul="You are Captain Zorblax.", extra_soul="Whisper.", lang="ru")
    gateway_of(running)
    bridge.memory = LEARNED
    answer = ask(client, running)
    assert answer.status_code == 200, answer.content
    told = answer.json()["memory"]
    soul = told.pop("soul")
    assert soul.startswith("You are Captain Zorblax.\n\nWhisper.\n\n- Your name is ")
    assert "по-русски" in soul
    assert told == {
        "skills": ["bread", "tea"],
        "memories": [{"name": "USER.md", "content": "likes tea"}],
        "sessionsCount": 3,
    }
    assert set(answer.json()) == {"memory"}
    assert "Memory-Cut" not in answer.headers


def test_what_is_cut_is_said_to_be_cut(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    bridge.memory = {**LEARNED, "is_cut": True}
    assert ask(client, running).headers["Memory-Cut"] == "true"


def test_a_stopped_agent_without_a_backup_is_409_that_names_both(client: APIClient, running: Agent) -> None:
    agent = settle(lifecycle.pause(running, reason=Reason.OWNER, actor="user:x"))
    answer = ask(client, agent)
    assert (answer.status_code, answer.json()) == (
        409,
        {
            "error": "CONFLICT",
            "message": "memory: the agent is stopped, and there is no backup of it to read;"
            f" POST /agents/{agent.pk}/resume starts it",
        },
    )


def test_a_pod_that_cannot_be_asked_is_409_that_names_the_hop(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    bridge.unreadable = "state.db cannot be read: database disk image is malformed"
    answer = ask(client, running)
    assert answer.status_code == 409
    assert "(engine: state.db cannot be read: database disk image is malformed)" in answer.json()["message"]
    assert "no backup of it to read" in answer.json()["message"]
    bridge.stop()
    assert "(engine: the engine's bridge gives no answer" in ask(client, running).json()["message"]


def test_a_pod_without_a_gateway_is_409(client: APIClient, running: Agent) -> None:
    answer = ask(client, running)
    assert answer.status_code == 409
    assert "its pod cannot be read (gateway: " in answer.json()["message"]


@pytest.mark.sampled
@pytest.mark.parametrize("lie", LIES)
def test_an_engine_that_lies_is_409(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble, lie: str
) -> None:
    gateway_of(running)
    bridge.memory = LIES[lie]
    answer = ask(client, running)
    assert answer.status_code == 409, answer.content[:200]
    assert "no backup of it to read" in answer.json()["message"]


def test_a_number_of_sessions_that_cannot_be_is_bounded(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    for said, shown in ((-5, 0), (10**15, 2**31 - 1)):
        bridge.memory = {**LEARNED, "sessions": said}
        assert ask(client, running).json()["memory"]["sessionsCount"] == shown


def test_nobody_reads_the_memory_of_anothers_or_a_deleted_agent(
    client: APIClient, other: APIClient, running: Agent, gateway_of: GatewayOf
) -> None:
    gateway_of(running)
    assert ask(other, running).status_code == 404
    Agent.objects.filter(pk=running.pk).update(desired=Desired.DELETED)
    assert ask(client, running).status_code == 404
