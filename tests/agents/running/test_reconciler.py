"""What the reconciler does when pods misbehave, when workers die, and when calls come in between."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from agents.cause import Cause
from agents.configuring import llm_key
from agents.models import Agent, Reason, Status, Transition
from agents.running import leases, lifecycle, plan, reconciler
from agents.runtimes.base import Observation, Phase, RuntimeFailure
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.doubles.runtime import ScriptedRuntime


def test_a_pod_that_is_lost_is_built_again(running: Agent, runtime: ScriptedRuntime) -> None:
    first = running.namespace
    runtime.lose(first)
    agent = settle(running)
    assert agent.status == Status.RUNNING
    assert agent.namespace != first
    assert event_types(agent) == ["agent.running", "agent.running"]


def test_a_pod_that_replaces_another_need_not_wait_for_a_scan(
    running: Agent, runtime: ScriptedRuntime, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    lifecycle.rebuild(running, actor="test")
    with django_capture_on_commit_callbacks() as asked:
        reconciler.reconcile(running.id)
    assert ("delete", running.namespace) in runtime.calls
    assert [getattr(one, "args", None) for one in asked] == [("agents.reconcile", (running.id,))]


def test_a_pod_that_is_lost_again_and_again_ends_as_failed(running: Agent, runtime: ScriptedRuntime) -> None:
    agent = running
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _ in range(plan.MAX_RECOVERIES + 1):
            runtime.lose(agent.namespace)
            agent = settle(agent)
            clock.shift(timedelta(seconds=90))
            agent = settle(agent)
    assert agent.status == Status.FAILED
    assert agent.cause == "POD_LOST"


@pytest.mark.parametrize("phase", [Phase.READY, Phase.UNHEALTHY])
def test_a_dead_gateway_is_started_again_without_an_event(
    running: Agent, runtime: ScriptedRuntime, phase: Phase
) -> None:
    runtime.set(running.namespace, gateway_alive=False, phase=phase)
    agent = settle(running)
    assert runtime.pods[agent.namespace].seen.gateway_alive
    assert (agent.status, agent.lost_since) == (Status.RUNNING, None)
    assert event_types(agent) == ["agent.running"]


def test_an_engine_that_stays_down_is_built_again_after_ten_minutes(running: Agent, runtime: ScriptedRuntime) -> None:
    first = running.namespace
    runtime.set(first, phase=Phase.FAILED, cause="CRASH_LOOP", message="it exits at once")
    agent = settle(running, rounds=2)
    assert (agent.status, agent.namespace) == (Status.RUNNING, first)
    with time_machine.travel(timezone.now() + timedelta(minutes=11), tick=False):
        agent = settle(agent)
    assert agent.status == Status.RUNNING
    assert agent.namespace != first


def test_a_change_reaches_the_pod_in_place_without_an_event(running: Agent, runtime: ScriptedRuntime) -> None:
    llm_key.install(running, provider="openai", key="sk-test")
    agent = settle(running)
    pod = runtime.pods[agent.namespace]
    assert (agent.status, pod.spec.secrets.llm_key) == (Status.RUNNING, "sk-test")
    assert pod.seen.revision == agent.spec_revision
    assert event_types(agent) == ["agent.running"]


def test_a_change_that_comes_while_the_pod_gets_ready_reaches_it_too(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=2)
    runtime.set(agent.namespace, phase=Phase.READY)
    llm_key.install(agent, provider="openai", key="sk-test")
    agent = settle(agent)
    pod = runtime.pods[agent.namespace]
    assert (agent.status, pod.seen.revision) == (Status.RUNNING, agent.spec_revision)
    assert pod.spec.secrets.llm_key == "sk-test"


def test_a_failed_agent_keeps_the_cause_it_failed_with(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=2)
    runtime.set(agent.namespace, phase=Phase.FAILED, cause="CRASH_LOOP", message="it exits at once")
    agent = settle(agent)
    runtime.trouble = RuntimeFailure("the gateway does not answer", cause="CONFIGURE")
    llm_key.install(agent, provider="openai", key="sk-test")
    agent = settle(agent, rounds=2)
    assert (agent.status, agent.cause, agent.cause_message) == (Status.FAILED, "CRASH_LOOP", "it exits at once")


def test_the_walls_of_a_failed_agent_whose_pod_still_runs_are_put_back(
    running: Agent, runtime: ScriptedRuntime
) -> None:
    runtime.set(running.namespace, phase=Phase.FAILED, cause=Cause.DATA_LOST, message="its disk is empty")
    assert settle(running).status == Status.FAILED
    runtime.set(running.namespace, strayed=True)
    agent = settle(running)
    assert ("repair", running.namespace) in runtime.calls
    assert (agent.status, runtime.pods[running.namespace].seen.strayed) == (Status.FAILED, False)


def test_what_a_failed_agents_pod_waits_for_is_put_back(running: Agent, runtime: ScriptedRuntime) -> None:
    runtime.set(running.namespace, phase=Phase.FAILED, cause=Cause.DATA_LOST, message="its disk is empty")
    settle(running)
    runtime.set(running.namespace, gateway_alive=False, strayed=True)
    settle(running)
    assert ("repair", running.namespace) in runtime.calls


def test_what_a_pod_that_comes_up_needs_is_put_back_and_not_only_once_it_runs(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=2)
    runtime.changed = ["Secret/gateway was gone"]
    runtime.set(agent.namespace, strayed=True)
    agent = settle(agent, rounds=2)
    assert ("repair", agent.namespace) not in runtime.calls, "what was just made is not taken for changed"
    with time_machine.travel(timezone.now() + timedelta(seconds=11), tick=False):
        agent = settle(agent, rounds=2)
    assert ("repair", agent.namespace) in runtime.calls
    assert agent.status == Status.PROVISIONING
    assert Transition.objects.filter(agent=agent, note="restored in its cluster: Secret/gateway was gone").exists()


def test_a_pod_that_does_not_come_up_in_ten_minutes_fails_with_a_cause(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=2)
    with time_machine.travel(timezone.now() + timedelta(minutes=11), tick=False):
        agent = settle(agent)
    assert (agent.status, agent.cause) == (Status.FAILED, "BOOT_TIMEOUT")


def test_installing_an_engine_is_outside_the_deadline(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    runtime.comes_up_as = Phase.INSTALLING
    agent = settle(make_agent(), rounds=2)
    for minutes in (9, 18, 27):
        with time_machine.travel(timezone.now() + timedelta(minutes=minutes), tick=False):
            agent = settle(agent, rounds=2)
    assert agent.status == Status.PROVISIONING


def test_a_runtime_that_is_away_is_asked_again(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    runtime.trouble = RuntimeFailure("the cluster does not answer", cause="CLUSTER_DOWN")
    agent = settle(make_agent(), rounds=3)
    assert agent.status == Status.PROVISIONING
    assert agent.attempts >= 1
    runtime.trouble = None
    assert settle(agent).status == Status.RUNNING


def test_what_can_never_succeed_fails_at_once(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    runtime.trouble = RuntimeFailure("no node has room", cause="NO_CAPACITY", permanent=True)
    agent = settle(make_agent(), rounds=2)
    assert (agent.status, agent.cause) == (Status.FAILED, "NO_CAPACITY")


def test_an_agent_is_stepped_by_one_worker_at_a_time(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    agent = make_agent()
    held = leases.take(agent.id, now=timezone.now())
    assert held is not None
    reconciler.reconcile(agent.id)
    assert runtime.calls == []


def test_a_killed_workers_agent_is_taken_up_when_its_lease_ends(make_agent: MakeAgent) -> None:
    agent = make_agent()
    assert leases.take(agent.id, now=timezone.now()) is not None
    with time_machine.travel(timezone.now() + leases.LEASE + timedelta(seconds=1), tick=False):
        reconciler.reconcile_due()
        assert settle(agent).status == Status.RUNNING


def test_what_is_asked_for_during_a_step_is_not_forgotten(running: Agent, runtime: ScriptedRuntime) -> None:
    held = leases.take(running.id, now=timezone.now())
    assert held is not None
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:test")
    leases.give_back(held, wait=None, failed=False)
    running.refresh_from_db()
    assert running.reconcile_at is not None
    assert settle(running).status == Status.STOPPED


def test_a_stale_look_at_the_fleet_never_condemns_an_agent(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    agent = settle(make_agent())
    Agent.objects.filter(pk=agent.pk).update(reconcile_at=timezone.now())
    reconciler.reconcile(agent.id, observed={})
    agent.refresh_from_db()
    assert (agent.status, agent.generation) == (Status.RUNNING, 1)


def test_a_scan_leaves_alone_whom_a_task_has_stepped_since_it_looked(
    make_agent: MakeAgent, runtime: ScriptedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent()
    look = runtime.observe

    def look_and_be_overtaken() -> dict[str, Observation]:
        seen = look()
        monkeypatch.setattr(runtime, "observe", look)
        reconciler.reconcile(agent.id)
        return seen

    monkeypatch.setattr(runtime, "observe", look_and_be_overtaken)
    reconciler.reconcile_due()
    assert runtime.calls == [("deploy", agent.namespace)]


@pytest.mark.parametrize("count", [1, 3])
def test_the_scan_of_a_healthy_fleet_costs_the_same_for_any_number(
    make_agent: MakeAgent, runtime: ScriptedRuntime, django_assert_num_queries: object, count: int
) -> None:
    for _ in range(count):
        settle(make_agent())
    with django_assert_num_queries(2):  # type: ignore[operator]  # pytest-django's context manager
        assert reconciler.reconcile_due() == 0


def test_where_an_observer_reports_changes_a_scan_looks_at_all_pods_only_now_and_then(
    running: Agent, runtime: ScriptedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "REPORTS_CHANGES", True, raising=False)
    reconciler.reconcile_due(now := timezone.now())
    looked: list[str | None] = []
    look = runtime.observe

    def note(suffix: str | None = None) -> dict[str, Observation]:
        looked.append(suffix)
        return look(suffix)

    monkeypatch.setattr(runtime, "observe", note)
    reconciler.reconcile_due(now + reconciler.COMPARED_EVERY - timedelta(seconds=1))
    assert looked == []
    reconciler.reconcile_due(now + reconciler.COMPARED_EVERY)
    assert looked == [None]


def test_what_is_due_is_stepped_by_what_its_own_pod_shows_between_two_comparisons(
    running: Agent, runtime: ScriptedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "REPORTS_CHANGES", True, raising=False)
    reconciler.reconcile_due()
    first = running.namespace
    runtime.lose(first)
    Agent.objects.update(reconcile_at=timezone.now() - timedelta(seconds=1))  # as the observer does
    assert settle(running).namespace != first


def test_an_agent_is_due_at_its_moment_and_not_a_microsecond_before(make_agent: MakeAgent) -> None:
    moment = timezone.now().replace(microsecond=123_457)
    later, first, second = (make_agent().id for _ in range(3))
    for agent_id, seconds in ((second, 0), (first, -1), (later, 1)):
        Agent.objects.filter(pk=agent_id).update(reconcile_at=moment + timedelta(seconds=seconds))
    assert leases.due(moment, limit=9) == [first, second]
    assert leases.due(moment, limit=1) == [first]
    Agent.objects.filter(pk=first).update(reconcile_at=None)
    assert leases.due(moment - timedelta(microseconds=1), limit=9) == []


def test_nobody_is_due_where_there_is_no_agent(db: None) -> None:
    assert leases.due(timezone.now(), limit=9) == []
