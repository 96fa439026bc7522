"""Which agents must find their data again, and what happens if a pod finds an empty disk."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from agents.models import Agent, Reason, Status
from agents.running import lifecycle
from agents.runtimes.base import Phase, RuntimeFailure
from agents.watching import explanation
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.doubles.runtime import ScriptedRuntime

pytestmark = pytest.mark.unmeasured

MESSAGE = "the agent's disk is empty"


def find_nothing(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    """The agent's pod reports that its data is lost."""
    runtime.set(agent.namespace, phase=Phase.FAILED, cause="DATA_LOST", message=MESSAGE)
    Agent.objects.filter(pk=agent.pk).update(reconcile_at=agent.created_at)
    return settle(agent)


def expects(runtime: ScriptedRuntime, agent: Agent) -> bool:
    """Whether the pod of this generation was told that there is data."""
    return runtime.pods[agent.namespace].spec.data_expected


@pytest.fixture
def lost(running: Agent, runtime: ScriptedRuntime) -> Agent:
    """An agent whose pod was replaced by the cluster and found an empty disk."""
    return find_nothing(running, runtime)


def test_a_new_agents_empty_disk_is_as_it_should_be_until_it_comes_up(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=3)
    assert (agent.data_expected, expects(runtime, agent)) == (False, False)
    runtime.set(agent.namespace, phase=Phase.READY)
    agent = settle(agent)
    assert (agent.status, agent.data_expected, expects(runtime, agent)) == (Status.RUNNING, True, True)


def test_it_is_not_running_before_its_pod_has_been_told(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=3)
    runtime.set(agent.namespace, phase=Phase.READY)
    runtime.trouble = RuntimeFailure("the cluster is away", cause="CLUSTER")
    agent = settle(agent, rounds=2)
    assert (agent.status, agent.data_expected) == (Status.PROVISIONING, False)
    runtime.trouble = None
    assert settle(agent).status == Status.RUNNING


def test_its_pod_is_told_once(running: Agent, runtime: ScriptedRuntime) -> None:
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:test")
    lifecycle.resume(settle(running), actor="user:test")
    assert settle(running).status == Status.RUNNING
    assert expects(runtime, running)
    assert [verb for verb, _ in runtime.calls].count("expect_data") == 1


def test_a_running_agent_fails_at_once_and_is_not_recovered(lost: Agent, runtime: ScriptedRuntime) -> None:
    assert (lost.status, lost.cause, lost.cause_message) == (Status.FAILED, "DATA_LOST", MESSAGE)
    assert (lost.generation, lost.recoveries, lost.data_expected) == (1, 0, True)
    assert event_types(lost) == ["agent.running", "agent.failed"]
    assert settle(lost).generation == 1


def test_a_pod_that_is_built_again_and_finds_nothing_fails_without_another(
    running: Agent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.STARTING
    runtime.lose(running.namespace)
    Agent.objects.update(reconcile_at=running.created_at)
    agent = settle(running, rounds=4)
    assert (agent.status, agent.generation, expects(runtime, agent)) == (Status.PROVISIONING, 2, True)
    agent = find_nothing(agent, runtime)
    assert (agent.status, agent.cause, agent.generation) == (Status.FAILED, "DATA_LOST", 2)


def test_explain_says_it_and_that_a_rebuild_is_the_next_call(lost: Agent) -> None:
    told = explanation.of(lost)
    assert (told.cause, told.message, told.evidence) == ("DATA_LOST", MESSAGE, [MESSAGE])
    assert told.next == f"POST /agents/{lost.id}/rebuild"


def test_a_rebuild_accepts_the_empty_disk(lost: Agent, client: APIClient, runtime: ScriptedRuntime) -> None:
    runtime.comes_up_as = Phase.STARTING
    assert client.post(f"/agents/{lost.id}/rebuild").status_code == 200
    agent = settle(lost, rounds=4)
    assert (agent.generation, agent.data_expected, expects(runtime, agent)) == (2, False, False)
    runtime.set(agent.namespace, phase=Phase.READY)
    agent = settle(agent)
    assert (agent.status, agent.data_expected, agent.cause) == (Status.RUNNING, True, "")


@pytest.mark.parametrize("cause", ["INSTALL", None])
def test_no_other_rebuild_does(running: Agent, runtime: ScriptedRuntime, cause: str | None) -> None:
    if cause:
        Agent.objects.update(status=Status.FAILED, cause=cause)
    agent = lifecycle.rebuild(running, actor="user:test")
    assert (agent.generation, agent.data_expected) == (2, True)


def test_pausing_and_resuming_does_not_either(lost: Agent, runtime: ScriptedRuntime) -> None:
    lifecycle.pause(lost, reason=Reason.OWNER, actor="user:test")
    stopped = settle(lost)
    runtime.comes_up_as = Phase.STARTING
    lifecycle.resume(stopped, actor="user:test")
    agent = settle(stopped, rounds=4)
    assert (agent.status, expects(runtime, agent)) == (Status.PROVISIONING, True)
