"""A cluster that never comes back: its running agents start elsewhere, its stopped agents stay stopped."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from agents.clusters import abandoning, placement
from agents.clusters.abandoning import StillAlive
from agents.models import Agent, Backup, Cluster, Placement, Pod, Reason, Status
from agents.running import lifecycle
from agents.runtimes.base import Phase
from tests.agents.clusters.observing import make_cluster
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.doubles.runtime import ScriptedRuntime

OPERATOR = "operator:usr_0"


@pytest.fixture
def lost(db: None) -> Cluster:
    return make_cluster("lost", observed_at=timezone.now() - timedelta(minutes=3))


def put(agent: Agent, cluster: Cluster) -> Agent:
    Placement.objects.create(agent_id=agent.id, cluster=cluster)
    Pod.objects.create(namespace=agent.namespace, agent_id=agent.id, cluster=cluster)
    return agent


def lose(cluster: Cluster) -> int:
    return abandoning.lose(cluster, actor=OPERATOR, now=timezone.now())


def test_a_running_agent_starts_elsewhere_and_its_timeline_says_that_its_data_is_gone(
    lost: Cluster, running: Agent, runtime: ScriptedRuntime
) -> None:
    before = put(running, lost).namespace
    assert lose(lost) == 0
    runtime.pods.clear()
    again = settle(running)
    assert (again.status, again.generation) == (Status.RUNNING, 2)
    assert again.namespace != before
    assert not Pod.objects.exists()
    make_cluster("other")
    assert placement.place(again.id).name == "other"
    told = again.transitions.get(note="cluster lost is lost, and the agent's data with it")
    assert (told.actor, told.reason) == (OPERATOR, Reason.RECOVERY)
    assert event_types(again) == ["agent.running", "agent.running"]


@pytest.mark.parametrize("wanted", ["running", "stopped"])
def test_its_agents_begin_anew_and_do_not_miss_their_data(
    lost: Cluster, running: Agent, runtime: ScriptedRuntime, wanted: str
) -> None:
    if wanted == "stopped":
        lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
        settle(running)
    put(running, lost)
    running.refresh_from_db()
    assert running.data_expected
    lose(lost)
    runtime.pods.clear()
    runtime.comes_up_as = Phase.STARTING
    if wanted == "stopped":
        lifecycle.resume(settle(running), actor="user:x")
    again = settle(running, rounds=4)
    assert (again.status, again.data_expected) == (Status.PROVISIONING, False)
    assert not runtime.pods[again.namespace].spec.data_expected


@pytest.mark.parametrize("wanted", ["running", "stopped"])
def test_its_agents_begin_with_their_newest_backup(
    lost: Cluster, running: Agent, runtime: ScriptedRuntime, settings: Settings, wanted: str, tmp_path: Path
) -> None:
    if wanted == "stopped":
        settle(lifecycle.pause(running, reason=Reason.OWNER, actor="user:x"))
    settings.BACKUP_STORE = str(tmp_path)
    now = timezone.now()
    known = {"namespace": running.namespace, "generation": 1, "actor": "x", "asked_at": now, "taken_at": now}
    backup = Backup.objects.create(agent=running, name="20260101-1", kind="nightly", stage="done", **known)
    put(running, lost)
    lose(lost)
    runtime.pods.clear()
    runtime.comes_up_as = Phase.STARTING
    if wanted == "stopped":
        lifecycle.resume(settle(running), actor="user:x")
    again = settle(running, rounds=4)
    assert runtime.pods[again.namespace].spec.restore == f"{backup.pk}.2"
    told = "cluster lost is lost, and the agent's data with it; its data is restored from backup 20260101-1"
    assert again.transitions.filter(note=told).exists()
    runtime.set(again.namespace, phase=Phase.READY)
    again = settle(again)
    assert (again.status, again.restores) == (Status.RUNNING, "")


def test_a_stopped_agent_stays_stopped_and_never_gets_its_old_namespace_again(
    lost: Cluster, running: Agent, runtime: ScriptedRuntime
) -> None:
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
    stopped = put(settle(running), lost)
    lose(lost)
    runtime.pods.clear()
    after = settle(stopped)
    assert (after.status, after.generation) == (Status.STOPPED, 2)
    assert placement.cluster_of(after.id) is None
    lifecycle.resume(after, actor="user:x")
    assert settle(after).status == Status.RUNNING


def test_an_agent_that_was_just_coming_up_gets_its_whole_time_again(lost: Cluster, make_agent: MakeAgent) -> None:
    agent = put(make_agent(), lost)
    Agent.objects.update(deadline_at=timezone.now() + timedelta(seconds=5))
    lose(lost)
    agent.refresh_from_db()
    assert (agent.status, agent.generation) == (Status.PROVISIONING, 2)
    assert agent.deadline_at is not None
    assert agent.deadline_at > timezone.now() + timedelta(minutes=9)
    assert settle(agent).status == Status.RUNNING


def test_an_agent_that_is_being_deleted_is_gone_at_last(
    lost: Cluster, running: Agent, runtime: ScriptedRuntime
) -> None:
    put(running, lost)
    lifecycle.delete(running, actor="user:x")
    lose(lost)
    assert settle(running).status == Status.DELETED


def test_a_cluster_that_is_seen_alive_is_not_given_up(cluster: Cluster, running: Agent) -> None:
    put(running, cluster)
    with pytest.raises(StillAlive, match=r"cluster one was last seen \d+ s ago"):
        lose(cluster)
    cluster.refresh_from_db()
    assert not cluster.cordoned
    assert Placement.objects.exists()


def test_nothing_is_placed_there_again(lost: Cluster) -> None:
    lose(lost)
    with pytest.raises(placement.NoCapacity):
        placement.place("agt_1")


def test_what_one_page_does_not_manage_a_worker_goes_on_with(
    lost: Cluster, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abandoning, "BATCH", 1)
    for _ in range(3):
        put(make_agent(), lost)
    assert lose(lost) == 2
    abandoning.go_on(str(lost.pk), actor=OPERATOR)
    assert not Placement.objects.exists()
    abandoning.go_on("0", actor=OPERATOR)


def test_one_that_cannot_leave_holds_up_no_other(
    lost: Cluster, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sorted((settle(make_agent()) for _ in range(2)), key=lambda agent: agent.id)
    put(first, lost)
    put(second, lost)
    recover = lifecycle.recover

    def recovered(agent: Agent, **given: object) -> Agent:
        if agent == first:
            raise RuntimeError("no")
        return recover(agent, **given)  # type: ignore[arg-type]  # all arguments are passed on

    monkeypatch.setattr(lifecycle, "recover", recovered)
    abandoning.go_on(str(lost.pk), actor=OPERATOR)
    assert list(Placement.objects.values_list("agent_id", flat=True)) == [first.id]


def test_rows_of_agents_that_are_gone_go_too(lost: Cluster) -> None:
    Placement.objects.create(agent_id="agt_gone", cluster=lost)
    Pod.objects.create(namespace="pod-old-1", agent_id="agt_elsewhere", cluster=lost)
    assert lose(lost) == 0
    assert not Pod.objects.exists()
    lost.delete()
