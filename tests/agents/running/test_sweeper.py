"""What the sweep of each minute repairs: agents that nothing else would wake, and pods that should not exist."""

from __future__ import annotations

from typing import Any

import pytest

from agents.models import Agent, Reason, Status
from agents.running import lifecycle, sweeper
from agents.runtimes.base import Phase, RuntimeFailure
from tests.agents.conftest import MakeAgent, settle
from tests.doubles.runtime import ScriptedRuntime


def deleted(agent: Agent) -> Agent:
    lifecycle.delete(agent, actor="user:test")
    return settle(agent)


def test_the_sweep_finds_an_agent_that_nothing_would_wake(make_agent: MakeAgent) -> None:
    agent = make_agent()
    Agent.objects.update(reconcile_at=None)
    sweeper.sweep()
    assert settle(agent).status == Status.RUNNING


def test_the_sweep_removes_a_deleted_agents_pod_and_only_reports_a_strangers(
    running: Agent, runtime: ScriptedRuntime
) -> None:
    left_behind = runtime.pods[running.namespace]
    lifecycle.delete(running, actor="user:test")
    settle(running)
    runtime.pods[running.namespace] = left_behind
    runtime.pods["pod-stranger-1"] = left_behind
    sweeper.sweep()
    assert list(runtime.pods) == ["pod-stranger-1"]


def test_a_pod_that_cannot_be_removed_does_not_keep_the_sweep_from_the_others(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    left = {agent.namespace: (agent, runtime.pods[agent.namespace]) for agent in (settle(make_agent()) for _ in "12")}
    for agent, _ in left.values():
        deleted(agent)
    runtime.pods.update({namespace: pod for namespace, (_, pod) in left.items()})
    runtime.calls.clear()
    runtime.trouble = RuntimeFailure("the cluster does not answer", cause="CLUSTER_DOWN")
    sweeper.sweep()
    assert sorted(runtime.calls) == sorted(("delete", namespace) for namespace in left)


def test_a_stopped_agents_pod_that_runs_all_the_same_is_stopped(running: Agent, runtime: ScriptedRuntime) -> None:
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:test")
    agent = settle(running)
    runtime.set(agent.namespace, phase=Phase.READY, gateway_alive=True)
    sweeper.sweep()
    agent = settle(agent)
    assert (agent.status, runtime.pods[agent.namespace].seen.phase) == (Status.STOPPED, Phase.STOPPED)


@pytest.mark.parametrize("count", [1, 3])
def test_a_sweep_costs_the_same_for_any_number_of_pods(
    make_agent: MakeAgent, runtime: ScriptedRuntime, django_assert_num_queries: Any, count: int
) -> None:
    for _ in range(count):
        settle(make_agent())
    with django_assert_num_queries(4):
        sweeper.sweep()
