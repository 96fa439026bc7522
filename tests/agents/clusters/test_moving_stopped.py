"""An agent that does not run can move. A stopped one takes the backup of its stop; a failed one needs a new backup."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from agents.clusters import abandoning, connections, moving, placement
from agents.clusters.models import MoveStage
from agents.clusters.moving import NotMovable
from agents.models import Agent, Backup, Cluster, Pod, Reason, Status
from agents.running import lifecycle, sweeper
from agents.runtimes.base import Phase
from tests.agents.clusters import ground
from tests.agents.clusters.moves import OPERATOR, asked, backed_up, come_up, has_no_volume, notes, place
from tests.agents.clusters.test_flow import ApiOwner
from tests.agents.conftest import event_types, settle
from tests.agents.pod.bridge.process import eventually
from tests.doubles.runtime import ScriptedRuntime


@pytest.fixture
def stopped(agent: Agent, runtime: ScriptedRuntime) -> Agent:  # a fixture
    """An agent whose pod made a backup when it stopped."""
    lifecycle.pause(agent, reason=Reason.OWNER, actor="user:x")
    settle(agent, rounds=2)
    paused = settle(backed_up(agent))
    assert (paused.status, Backup.objects.get(agent=agent).kind) == (Status.STOPPED, "stop")
    return paused


def started(agent: Agent) -> Agent:
    lifecycle.resume(agent, actor="user:x")
    return settle(agent, rounds=3)


def move(agent: Agent, there: Cluster) -> Agent:
    moving.move(agent, to=there, actor=OPERATOR, why="a test")
    return settle(agent)


def test_a_stopped_one_begins_there_when_it_is_started_with_the_backup_of_its_stop(
    stopped: Agent,
    there: Cluster,
    runtime: ScriptedRuntime,
) -> None:
    backup = Backup.objects.get(agent=stopped)
    moved = move(stopped, there)
    assert (moved.status, place(moved)) == (Status.STOPPED, ("there", MoveStage.BEGUN, "here"))
    assert moved.namespace not in runtime.pods, "nothing is started now"
    moved = started(moved)
    spec = runtime.pods[moved.namespace].spec
    assert (spec.restore, spec.data_expected) == (f"{backup.pk}.2", False)
    assert place(moved) == ("there", MoveStage.BEGUN, "here"), "its disk stays until it is ready"
    moved = come_up(moved, runtime)
    assert (moved.status, moved.restores, moved.data_expected) == (Status.RUNNING, "", True)
    assert place(moved) == ("there", MoveStage.OVER, "here")
    assert notes(moved) == [f"from cluster here to there with backup {backup.name} once it is started: a test"]
    assert event_types(moved) == ["agent.running", "agent.stopped", "agent.running"]


def test_what_is_left_of_its_pod_goes_and_its_disk_stays(
    stopped: Agent,
    there: Cluster,
    runtime: ScriptedRuntime,
) -> None:
    old = stopped.namespace
    move(stopped, there)
    assert old not in runtime.pods
    assert ("delete", old) in [call[:2] for call in runtime.calls]
    assert {str(one) for one in placement.everywhere(stopped.pk)} == {"here", "there"}


def test_one_that_nobody_pays_for_moves_and_is_not_started(stopped: Agent, there: Cluster) -> None:
    Agent.objects.filter(pk=stopped.pk).update(entitled_until=timezone.now() - timedelta(days=9))
    assert move(stopped, there).status == Status.STOPPED
    assert place(stopped) == ("there", MoveStage.BEGUN, "here")


def test_one_that_does_not_come_up_there_goes_back_to_its_disk(
    stopped: Agent,
    there: Cluster,
    runtime: ScriptedRuntime,
) -> None:
    moved = started(move(stopped, there))
    runtime.set(moved.namespace, phase=Phase.FAILED, cause="RESTORE", message="no way")
    back = settle(moved, rounds=6)
    assert (back.status, place(back)) == (Status.PROVISIONING, ("here", MoveStage.OVER, "there"))
    spec = runtime.pods[back.namespace].spec
    assert (spec.restore, spec.data_expected) == ("", True)
    assert come_up(back, runtime).status == Status.RUNNING


def test_what_a_stopped_one_wrote_after_its_newest_backup_is_not_left_behind(
    stopped: Agent,
    there: Cluster,
) -> None:
    """For example: its newest backup is from an hour before the stop, or a suspension stopped it without a backup."""
    Backup.objects.update(taken_at=stopped.status_since - moving.AS_IT_STOPPED - timedelta(seconds=1))
    with pytest.raises(NotMovable, match="no backup of what it wrote before it stopped: resume it"):
        moving.move(stopped, to=there, actor=OPERATOR)
    Backup.objects.update(taken_at=stopped.status_since, broken=1)
    with pytest.raises(NotMovable, match="not all of its databases are whole"):
        moving.move(stopped, to=there, actor=OPERATOR)
    assert place(stopped) == ("here", "", "")


def test_one_whose_disk_is_elsewhere_still_does_not_move_on(stopped: Agent, here: Cluster, there: Cluster) -> None:
    move(stopped, there)
    with pytest.raises(NotMovable, match="its data is on cluster here until it is started on there"):
        moving.move(stopped, to=here, actor=OPERATOR)


@pytest.mark.parametrize("lost", ["here", "there"])
def test_either_place_is_lost_before_it_is_started(
    stopped: Agent,
    here: Cluster,
    there: Cluster,
    runtime: ScriptedRuntime,
    lost: str,
) -> None:
    """If the old cluster is lost, the agent starts from its backup. If the new one is lost, it starts on its disk."""
    backup = Backup.objects.get(agent=stopped)
    moved = move(stopped, there)
    gone = {"here": here, "there": there}[lost]
    Cluster.objects.filter(pk=gone.pk).update(observed_at=timezone.now() - timedelta(minutes=3))
    assert abandoning.lose(gone, actor=OPERATOR, now=timezone.now()) == 0
    moved = started(moved)
    spec = runtime.pods[moved.namespace].spec
    restores = f"{backup.pk}.{moved.generation}" if lost == "here" else ""
    assert (spec.restore, spec.data_expected) == (restores, lost == "there")
    assert come_up(moved, runtime).status == Status.RUNNING
    assert place(moved) == ("there" if lost == "here" else "here", "", "")


@pytest.fixture
def failed(agent: Agent) -> Agent:
    Agent.objects.filter(pk=agent.pk).update(status=Status.FAILED, cause="BOOT_TIMEOUT", status_since=timezone.now())
    agent.refresh_from_db()
    return agent


def test_a_failed_one_whose_pod_makes_a_backup_moves_as_one_that_runs(
    failed: Agent,
    there: Cluster,
    runtime: ScriptedRuntime,
) -> None:
    runtime.set(failed.namespace, phase=Phase.UNHEALTHY)
    asked(failed, there)
    moved = come_up(backed_up(failed), runtime)
    assert (moved.status, place(moved)) == (Status.RUNNING, ("there", MoveStage.OVER, "here"))


def test_a_failed_one_whose_pod_makes_none_is_built_again_where_it_is(
    failed: Agent,
    there: Cluster,
    runtime: ScriptedRuntime,
) -> None:
    runtime.set(failed.namespace, phase=Phase.FAILED, gateway_alive=False)
    moved = come_up(asked(failed, there), runtime)
    assert (moved.status, place(moved)) == (Status.RUNNING, ("here", "", ""))
    assert "not moved to cluster there: its pod has made no backup" in notes(moved)
    assert runtime.pods[moved.namespace].spec.data_expected


# The next test runs on two doubles, with the real restic.


@pytest.mark.django_db(transaction=True)
@pytest.mark.unmeasured
@pytest.mark.skipif(ground.is_real, reason="there is one real cluster")
@pytest.mark.slow
def test_a_stopped_one_that_is_started_elsewhere_remembers_what_it_was_told(
    client: APIClient, two: list[Cluster]
) -> None:
    owner = ApiOwner(client)
    owner.until("running")
    assert owner.say("say one") == "one"
    owner.post("/pause")
    owner.until("stopped")
    agent = owner.row()
    old = placement.place(agent.pk)
    (new,) = [one for one in two if one != old]
    moving.move(agent, to=new, actor=OPERATOR)
    eventually(lambda: not Pod.objects.filter(namespace=agent.namespace).exists(), within=60, what="its pod's end")
    assert not has_no_volume(connections.of(old))
    owner.post("/resume")
    owner.until("running")
    assert owner.say("count") == "1"
    assert placement.place(agent.pk) == new

    def is_taken_away() -> bool:
        sweeper.sweep()
        return place(agent) == (new.name, "", "")

    eventually(is_taken_away, within=40, what="the old volume's end")
    assert has_no_volume(connections.of(old))
