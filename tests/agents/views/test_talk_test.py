"""`POST /agents/{id}/talk-test`: which hop is silent, for its owner."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.configuring import llm_key
from agents.models import Agent, Reason
from agents.running import lifecycle
from agents.runtimes.base import Phase, RuntimeFailure
from tests.agents.conftest import MakeAgent, settle
from tests.agents.views.conftest import GatewayOf
from tests.doubles.bridge import BridgeDouble
from tests.doubles.runtime import ScriptedRuntime


def talk_test(client: APIClient, agent: Agent) -> Any:
    answer = client.post(f"/agents/{agent.id}/talk-test")
    assert answer.status_code == 200, answer.json()
    assert set(answer.json()) == {"talkTest"}
    found = answer.json()["talkTest"]
    assert set(found) == {"ok", "hops"}
    assert all(set(hop) == {"hop", "ok", "ms", "error"} for hop in found["hops"])
    assert found["ok"] == all(hop["ok"] for hop in found["hops"])
    return found


def silent(found: Any) -> dict[str, str]:
    return {hop["hop"]: hop["error"] for hop in found["hops"] if not hop["ok"]}


@pytest.fixture
def with_key(running: Agent) -> Agent:
    return llm_key.install(running, provider="openai", key="sk-real-0123456789abcdefghijkl")


def test_a_healthy_agent_is_well_at_every_hop(client: APIClient, with_key: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(with_key)
    found = talk_test(client, with_key)
    assert found["ok"] is True
    assert [hop["hop"] for hop in found["hops"]] == ["gateway", "engine", "model", "web"]


def test_without_a_key_only_the_model_is_silent(client: APIClient, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running, llm_key=None)
    found = silent(talk_test(client, running))
    assert set(found) == {"model"}
    assert "PATCH /agents/{id}/llm-key" in found["model"]


def test_a_dead_engine_is_the_silent_hop(
    client: APIClient, with_key: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(with_key)
    bridge.phase, bridge.message = "unhealthy", "the engine ended by signal 9"
    found = silent(talk_test(client, with_key))
    assert list(found) == ["engine", "model", "web"]
    assert found["engine"] == "the engine ended by signal 9"


def test_a_dead_gateway_is_the_silent_hop_and_nothing_behind_it_is_tried(client: APIClient, with_key: Agent) -> None:
    found = silent(talk_test(client, with_key))
    assert list(found) == ["gateway", "engine", "model", "web"]
    assert "cannot be reached" in found["gateway"]
    assert set(list(found.values())[1:]) == {"not tried: the gateway is silent"}


def test_why_the_gateway_is_not_there_is_said_where_it_is_known(
    client: APIClient, make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    agent = make_agent()
    runtime.trouble = RuntimeFailure("port 20001 of the agent is taken by another program", cause="PORT")
    agent = settle(agent)
    assert "PORT: port 20001 of the agent is taken" in silent(talk_test(client, agent))["gateway"]


def test_a_failed_agent_can_be_tested_too(
    client: APIClient, make_agent: MakeAgent, runtime: ScriptedRuntime, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    runtime.comes_up_as = Phase.FAILED
    agent = settle(make_agent())
    gateway_of(agent)
    bridge.phase, bridge.cause, bridge.message = "failed", "INSTALL", "npm failed"
    assert silent(talk_test(client, agent))["engine"] == "INSTALL: npm failed"


def test_a_stopped_agent_is_a_conflict(client: APIClient, running: Agent) -> None:
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:test")
    for state in ("being stopped", "stopped"):
        answer = client.post(f"/agents/{running.id}/talk-test")
        assert (answer.status_code, answer.json()["error"]) == (409, "CONFLICT")
        assert f"while the agent is {state}; POST /agents/{running.id}/resume" in answer.json()["message"]
        settle(running)


def test_a_strangers_agent_is_not_found(other: APIClient, running: Agent) -> None:
    assert other.post(f"/agents/{running.id}/talk-test").status_code == 404
