"""The state machine as an owner sees it: what each call does in each state, and which events follow."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from accounts.models import User
from agents.errors import NoSuchAgent, NotEntitled, WrongState
from agents.models import Agent, AgentQuota, Desired, QuotaStatus, Reason, Status, Transition
from agents.running import lifecycle
from agents.runtimes.base import Phase
from config.states import IllegalTransition
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.doubles.runtime import ScriptedRuntime
from webhooks.models import Event


def last_data(agent: Agent) -> dict[str, str]:
    event = Event.objects.filter(agent=agent).latest("created_at")
    data: dict[str, str] = json.loads(event.body)["data"]
    return data


def pause(agent: Agent) -> Agent:
    return lifecycle.pause(agent, reason=Reason.OWNER, actor="user:test")


def test_a_new_agent_comes_up_and_says_so(make_agent: MakeAgent) -> None:
    agent = settle(make_agent())
    assert (agent.status, agent.dseq) == (Status.RUNNING, agent.namespace)
    assert event_types(agent) == ["agent.running"]
    assert last_data(agent) == {"from": "provisioning", "to": "running"}


def test_dseq_is_null_until_the_first_successful_deploy(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=3)
    assert (agent.status, agent.dseq, agent.endpoint_url) == (Status.PROVISIONING, None, None)


def test_a_stopped_agent_is_not_stopped_twice(running: Agent) -> None:
    pause(running)
    pause(running)
    agent = settle(running)
    pause(agent)
    assert settle(agent).status == Status.STOPPED
    assert event_types(agent) == ["agent.running", "agent.stopped"]
    assert last_data(agent) == {"from": "running", "to": "stopped", "reason": "owner"}


def test_pause_answers_with_the_status_as_it_is_and_stopped_follows_on_confirmation(running: Agent) -> None:
    assert pause(running).status == Status.RUNNING
    assert event_types(running) == ["agent.running"]
    assert settle(running).status == Status.STOPPED


def test_pausing_a_new_agent_stops_its_pod(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=2)
    pause(agent)
    assert settle(agent).status == Status.STOPPED
    assert last_data(agent) == {"from": "provisioning", "to": "stopped", "reason": "owner"}


def test_resume_goes_through_provisioning_and_reports_where_it_came_from(running: Agent) -> None:
    pause(running)
    agent = lifecycle.resume(settle(running), actor="user:test")
    assert agent.status == Status.PROVISIONING
    assert settle(agent).status == Status.RUNNING
    assert last_data(agent) == {"from": "stopped", "to": "running"}


def test_resuming_a_running_agent_changes_nothing(running: Agent) -> None:
    assert lifecycle.resume(running, actor="user:test").status == Status.RUNNING
    assert event_types(settle(running)) == ["agent.running"]


def test_resume_takes_back_a_pause_that_has_not_happened_yet(running: Agent) -> None:
    pause(running)
    assert lifecycle.resume(running, actor="user:test").desired == Desired.RUNNING
    assert settle(running).status == Status.RUNNING
    assert event_types(running) == ["agent.running"]
    assert list(running.transitions.order_by("id").values_list("note", flat=True))[-2:] == [
        "stop requested",
        "stop cancelled",
    ]


def test_what_is_asked_of_a_new_agent_that_is_being_stopped_says_what_to_wait_for(make_agent: MakeAgent) -> None:
    agent = pause(make_agent())
    for ask in (lifecycle.resume, lifecycle.rebuild):
        with pytest.raises(WrongState, match="wait for stopped"):
            ask(agent, actor="user:test")


def test_resume_is_refused_while_provisioning_and_after_failure(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.FAILED
    agent = make_agent()
    with pytest.raises(WrongState, match="wait for running or failed"):
        lifecycle.resume(agent, actor="user:test")
    with pytest.raises(WrongState, match="rebuild"):
        lifecycle.resume(settle(agent), actor="user:test")


def test_after_the_free_time_resume_and_rebuild_point_to_where_one_pays(running: Agent) -> None:
    pause(running)
    agent = settle(running)
    with time_machine.travel(timezone.now() + timedelta(days=8), tick=False):
        for verb in (lifecycle.resume, lifecycle.rebuild):
            with pytest.raises(NotEntitled) as refusal:
                verb(agent, actor="user:test")
            assert refusal.value.headers["Link"].endswith(f'/renew/{agent.id}>; rel="payment"')
    assert settle(agent).status == Status.STOPPED


def test_rebuild_of_a_running_agent_reports_running_to_running_in_a_new_namespace(
    running: Agent, runtime: ScriptedRuntime
) -> None:
    before = running.namespace
    agent = settle(lifecycle.rebuild(running, actor="user:test"))
    assert (agent.status, agent.dseq) == (Status.RUNNING, agent.namespace)
    assert agent.namespace != before
    assert list(runtime.pods) == [agent.namespace]
    assert agent.id in runtime.data
    assert last_data(agent) == {"from": "running", "to": "running"}


def test_rebuild_is_refused_while_provisioning(make_agent: MakeAgent) -> None:
    with pytest.raises(WrongState):
        lifecycle.rebuild(make_agent(), actor="user:test")


def test_a_failed_agent_can_be_rebuilt(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    runtime.comes_up_as = Phase.FAILED
    agent = settle(make_agent())
    assert agent.status == Status.FAILED
    assert last_data(agent) == {"from": "provisioning", "to": "failed"}
    runtime.comes_up_as = Phase.READY
    agent = settle(lifecycle.rebuild(agent, actor="user:test"))
    assert agent.status == Status.RUNNING
    assert last_data(agent) == {"from": "failed", "to": "running"}


def test_a_failed_agent_whose_pod_comes_up_after_all_runs(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    runtime.comes_up_as = Phase.FAILED
    agent = settle(make_agent())
    runtime.set(agent.namespace, phase=Phase.READY)
    agent = settle(agent)
    assert agent.status == Status.RUNNING
    assert last_data(agent) == {"from": "failed", "to": "running"}


def test_deleting_removes_pod_and_data_before_it_is_said(running: Agent, runtime: ScriptedRuntime) -> None:
    lifecycle.delete(running, actor="user:test")
    assert Agent.objects.live().count() == 0
    assert event_types(running) == ["agent.running"]
    agent = settle(running)
    assert (agent.status, runtime.pods, runtime.data) == (Status.DELETED, {}, set())
    assert last_data(agent) == {"from": "running", "to": "deleted"}


def test_a_deleted_agent_is_never_brought_back(running: Agent) -> None:
    lifecycle.delete(running, actor="user:test")
    for verb in (lifecycle.resume, lifecycle.rebuild):
        with pytest.raises(NoSuchAgent):
            verb(running, actor="operator:test")
    assert settle(running).status == Status.DELETED


@pytest.mark.parametrize("phase", list(Phase))
def test_delete_is_legal_from_every_state(make_agent: MakeAgent, runtime: ScriptedRuntime, phase: Phase) -> None:
    runtime.comes_up_as = phase
    agent = settle(make_agent(), rounds=2)
    lifecycle.delete(agent, actor="user:test")
    assert settle(agent).status == Status.DELETED
    assert event_types(agent)[-1] == "agent.deleted"


def test_a_deleted_agent_keeps_no_secret(make_agent: MakeAgent) -> None:
    agent = settle(make_agent(llm_provider="openai", llm_key="sk-secret", model="openai:gpt-6-luna"))
    lifecycle.delete(agent, actor="user:test")
    Agent.objects.filter(pk=agent.pk).update(dash_password="hush")
    agent = settle(agent)
    assert (agent.status, agent.llm_key, agent.dash_password) == (Status.DELETED, None, None)


def test_a_pod_that_comes_up_after_a_pause_does_not_make_the_agent_run(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.STARTING
    agent = settle(make_agent(), rounds=2)
    pause(agent)
    runtime.set(agent.namespace, phase=Phase.READY)
    assert settle(agent).status == Status.STOPPED
    assert event_types(agent) == ["agent.stopped"]


def test_every_move_is_on_the_timeline_with_its_actor(running: Agent) -> None:
    pause(running)
    agent = settle(running)
    rows = (
        Transition.objects.filter(agent=agent)
        .order_by("at", "id")
        .values_list("from_status", "to_status", "reason", "actor")
    )
    assert list(rows) == [
        ("provisioning", "provisioning", "create", f"user:{agent.user_id}"),
        ("provisioning", "running", "create", "reconciler"),
        ("running", "running", "owner", "user:test"),
        ("running", "stopped", "owner", "reconciler"),
    ]


def test_a_move_that_the_table_lacks_is_a_defect(running: Agent, owner: User) -> None:
    lifecycle.delete(running, actor="user:test")
    agent = settle(running)
    with pytest.raises(IllegalTransition):
        lifecycle._move(agent, Status.RUNNING, reason=Reason.OWNER, actor="x", now=timezone.now())


@pytest.mark.parametrize(
    ("is_paused", "measured"), [(True, (QuotaStatus.OK, "")), (False, (QuotaStatus.GRACE, "fffff"))]
)
def test_a_rebuild_forgets_what_was_measured_if_the_agent_was_stopped(
    running: Agent, is_paused: bool, measured: tuple[QuotaStatus, str]
) -> None:
    agent = settle(pause(running)) if is_paused else running
    then = timezone.now() - timedelta(hours=1)
    AgentQuota.objects.create(agent=agent, status=QuotaStatus.GRACE, recent="fffff", since=then, updated_at=then)
    lifecycle.rebuild(agent, actor="user:test")
    row = AgentQuota.objects.get(agent=agent)
    assert ((row.status, row.recent), row.since > then) == (measured, is_paused)
    told = Transition.objects.filter(agent=agent, note="quota grace to ok").values_list("actor", "reason")
    assert list(told) == ([("user:test", "quota")] if is_paused else [])
