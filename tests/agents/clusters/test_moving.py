"""An agent moves from one live cluster to another. At each moment, one of the clusters has its whole data."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from agents.clusters import abandoning, connections, moving, placement
from agents.clusters.models import MoveStage
from agents.clusters.moving import NotMovable
from agents.errors import BackupsAreOff, WrongState
from agents.models import Agent, Backup, Cluster, Placement, Reason, Status
from agents.running import lifecycle, sweeper
from agents.runtimes.base import Phase, RuntimeFailure
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.agents.clusters import ground
from tests.agents.clusters.moves import OPERATOR, asked, backed_up, come_up, has_no_volume, notes, place
from tests.agents.clusters.test_flow import ApiOwner, leaves_nothing
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes.conftest import AGENT, pod_spec
from tests.doubles.bridge import BridgeDouble
from tests.doubles.runtime import ScriptedRuntime
from tests.operating import act


def test_it_begins_there_with_the_backup_that_its_old_pod_makes(
    agent: Agent, there: Cluster, runtime: ScriptedRuntime
) -> None:
    old = agent.namespace
    moved = asked(agent, there)
    assert (moved.status, place(agent)) == (Status.PROVISIONING, ("here", MoveStage.ASKED, "there"))
    assert old in runtime.pods, "it makes the backup"
    moved = backed_up(agent)
    backup = Backup.objects.get(agent=agent)
    assert place(agent) == ("there", MoveStage.BEGUN, "here")
    assert list(runtime.pods) == [moved.namespace]
    spec = runtime.pods[moved.namespace].spec
    assert (spec.restore, spec.data_expected) == (f"{backup.pk}.2", False)
    moved = come_up(moved, runtime)
    assert (moved.status, moved.restores, moved.data_expected) == (Status.RUNNING, "", True)
    assert place(agent) == ("there", MoveStage.OVER, "here")
    assert notes(agent) == [
        "to cluster there: a test",
        f"from cluster here to there with backup {backup.name}",
        "",
    ]
    assert event_types(agent) == ["agent.running", "agent.running"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"phase": "failed", "message": "no room"}, "its pod has made no backup"),
        (
            {"phase": "done", "snapshot": "a" * 64, "size": 1, "note": "", "broken": 1},
            "not all of its databases are whole in its backup",
        ),
    ],
)
def test_without_a_backup_of_all_it_stays_and_its_timeline_says_why(
    agent: Agent, there: Cluster, runtime: ScriptedRuntime, bridge: BridgeDouble, said: dict[str, object], why: str
) -> None:
    bridge.backup = said
    asked(agent, there)
    stayed = come_up(backed_up(agent), runtime)
    assert (stayed.status, place(agent)) == (Status.RUNNING, ("here", "", ""))
    assert (runtime.pods[stayed.namespace].spec.restore, stayed.data_expected) == ("", True)
    assert f"not moved to cluster there: {why}" in notes(agent)


def test_one_that_does_not_come_up_there_is_built_again_where_its_data_is(
    agent: Agent, there: Cluster, runtime: ScriptedRuntime
) -> None:
    asked(agent, there)
    moved = backed_up(agent)
    runtime.set(moved.namespace, phase=Phase.FAILED, cause="RESTORE", message="no way")
    back = settle(agent, rounds=6)
    assert (back.status, back.generation, place(agent)) == (Status.PROVISIONING, 3, ("here", MoveStage.OVER, "there"))
    spec = runtime.pods[back.namespace].spec
    assert (spec.restore, spec.data_expected) == ("", True)
    assert come_up(back, runtime).status == Status.RUNNING
    assert Backup.objects.filter(agent=agent).count() == 1, "of the half that was there none is made"
    assert "not moved to cluster there, back where its data is: RESTORE: no way" in notes(agent)
    assert event_types(agent) == ["agent.running", "agent.running"]


@pytest.mark.parametrize("then", ["resume", "rebuild"])
def test_one_that_is_paused_on_the_way_goes_on_when_it_is_resumed_and_back_when_it_is_rebuilt(
    agent: Agent, there: Cluster, runtime: ScriptedRuntime, then: str
) -> None:
    asked(agent, there)
    moved = backed_up(agent)
    lifecycle.pause(moved, reason=Reason.OWNER, actor="user:x")
    stopped = settle(agent)
    assert (stopped.status, place(agent)) == (Status.STOPPED, ("there", MoveStage.BEGUN, "here"))
    if then == "resume":
        lifecycle.resume(stopped, actor="user:x")
        again = come_up(settle(agent, rounds=3), runtime)
        assert (again.generation, place(agent)) == (2, ("there", MoveStage.OVER, "here"))
        return
    lifecycle.rebuild(stopped, actor="user:x")
    again = come_up(settle(agent, rounds=4), runtime)
    assert (again.generation, place(agent)) == (3, ("here", MoveStage.OVER, "there"))
    assert runtime.pods[again.namespace].spec.restore == ""


def test_one_that_is_paused_before_it_has_left_stays(agent: Agent, there: Cluster, runtime: ScriptedRuntime) -> None:
    asked(agent, there)
    lifecycle.pause(agent, reason=Reason.SUSPENDED, actor="user:x")
    stopped = settle(agent)
    assert (stopped.status, placement.place(agent.pk).name) == (Status.STOPPED, "here")
    lifecycle.resume(stopped, actor="user:x")
    assert come_up(settle(agent, rounds=3), runtime).status == Status.RUNNING
    assert place(agent) == ("here", "", "")


def test_whatever_fails_on_the_way_fails_once_and_its_data_is_known_to_be_somewhere(
    agent: Agent, there: Cluster, runtime: ScriptedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call fails once, as if the worker was killed before it. The next worker comes to the same call."""
    failed: set[tuple[str, str]] = set()

    def record(verb: str, namespace: str) -> None:
        assert "here" in {str(one) for one in placement.everywhere(agent.pk)}
        if (verb, namespace) not in failed:
            failed.add((verb, namespace))
            raise RuntimeFailure("killed", cause="KILLED")

    monkeypatch.setattr(runtime, "_record", record)
    asked(agent, there)
    moved = backed_up(agent)
    moved = settle(agent, rounds=8)
    moved = come_up(moved, runtime)
    assert (moved.status, moved.generation, place(agent)) == (Status.RUNNING, 2, ("there", MoveStage.OVER, "here"))
    assert {verb for verb, _ in failed} >= {"delete", "deploy", "secure", "expect_data"}


def test_the_new_place_is_lost_on_the_way_and_it_goes_back(
    agent: Agent, there: Cluster, runtime: ScriptedRuntime
) -> None:
    asked(agent, there)
    backed_up(agent)
    Cluster.objects.filter(pk=there.pk).update(observed_at=timezone.now() - timedelta(minutes=3))
    assert abandoning.lose(there, actor=OPERATOR, now=timezone.now()) == 0
    runtime.pods.clear()
    back = settle(agent, rounds=4)
    assert (place(agent), back.restores, back.data_expected) == (("here", "", ""), "", True)
    assert come_up(back, runtime).status == Status.RUNNING
    there.delete()


def test_the_old_place_is_lost_on_the_way_and_it_goes_on(
    agent: Agent, here: Cluster, there: Cluster, runtime: ScriptedRuntime
) -> None:
    asked(agent, there)
    moved = backed_up(agent)
    Cluster.objects.filter(pk=here.pk).update(observed_at=timezone.now() - timedelta(minutes=3))
    assert abandoning.lose(here, actor=OPERATOR, now=timezone.now()) == 0
    assert come_up(moved, runtime).status == Status.RUNNING
    assert place(agent) == ("there", "", "")
    here.delete()


def test_what_cannot_move_is_refused(agent: Agent, here: Cluster, there: Cluster, settings: Settings) -> None:
    def refused(to: Cluster, kind: type[Exception], why: str) -> None:
        with pytest.raises(kind, match=why):
            moving.move(agent, to=to, actor=OPERATOR)

    refused(here, NotMovable, "it is on cluster here already")
    Cluster.objects.filter(pk=there.pk).update(cordoned=True)
    refused(there, NotMovable, "cluster there takes no other agent: it is cordoned")
    Cluster.objects.filter(pk=there.pk).update(cordoned=False, capacity=0)
    refused(there, NotMovable, "it is full")
    Cluster.objects.filter(pk=there.pk).update(capacity=1)
    Placement.objects.filter(pk=agent.pk).update(move=MoveStage.OVER, other=there)
    refused(there, NotMovable, "what it left on cluster there is still being taken away")
    settings.BACKUP_STORE = ""
    refused(there, BackupsAreOff, "BACKUP_STORE")
    settings.BACKUP_STORE = "/x"
    lifecycle.pause(agent, reason=Reason.SUSPENDED, actor="x")
    refused(there, WrongState, "wait until it runs, or has stopped")
    settle(agent)
    Placement.objects.filter(pk=agent.pk).update(move="", other=None)
    refused(there, NotMovable, "it has no backup of what it wrote before it stopped")
    agent.refresh_from_db()
    assert (agent.generation, agent.status) == (1, Status.STOPPED)


def test_a_place_that_closes_meanwhile_takes_nobody(agent: Agent, there: Cluster, runtime: ScriptedRuntime) -> None:
    asked(agent, there)
    Cluster.objects.filter(pk=there.pk).update(cordoned=True)
    assert come_up(backed_up(agent), runtime).status == Status.RUNNING
    assert place(agent) == ("here", "", "")
    assert "not moved to cluster there: cluster there takes no other agent: it is cordoned" in notes(agent)


def test_an_operator_moves_an_agent(agent: Agent, there: Cluster, make_agent: MakeAgent) -> None:
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    page = act(console, "/admin/agents/agent/", "move_agents", agent, reason="its cluster is old", to=there.pk)
    assert "Move" in page
    assert place(agent) == ("here", MoveStage.ASKED, "there")
    told = agent.transitions.get(note="to cluster there: its cluster is old")
    assert told.actor.startswith("operator:")


# The next tests run on two doubles.


def is_ready(runtime: KubernetesRuntime, namespace: str) -> bool:
    return runtime.observe()[namespace].phase == Phase.READY


@pytest.mark.django_db(transaction=True)
@pytest.mark.unmeasured
@pytest.mark.skipif(ground.is_real, reason="there is one real cluster")
def test_one_that_is_deleted_on_the_way_leaves_nothing_at_either_place(tmp_path: Path, settings: Settings) -> None:
    settings.AGENT_RUNTIME = "kubernetes"
    with ground.double(tmp_path / "one", settings, run=False, name="one") as (_, one), ExitStack() as stack:
        _, two = stack.enter_context(ground.double(tmp_path / "two", settings, run=False, name="two"))
        stack.enter_context(ground.observing())
        runtime = KubernetesRuntime(gone_seconds=ground.GONE_SECONDS)
        Placement.objects.create(agent_id=AGENT, cluster=one)
        for namespace in ("pod-abc-1", "pod-abc-2"):
            runtime.deploy(pod_spec(namespace))
            eventually(partial(is_ready, runtime, namespace), what=namespace)
            runtime.secure(namespace)
            if namespace == "pod-abc-1":
                runtime.delete(namespace, agent_id=AGENT, data=False)
                Placement.objects.update(cluster=two, other=one, move=MoveStage.BEGUN)
        moving.take_away_left()  # nothing is deleted before the agent has arrived
        volumes = [connections.of(cluster) for cluster in (one, two)]
        assert [len(api.get("/api/v1/persistentvolumes")["items"]) for api in volumes] == [1, 1]
        runtime.delete("pod-abc-2", agent_id=AGENT, data=True)
        assert not Placement.objects.exists()
        for api in volumes:
            eventually(partial(has_no_volume, api), what="the volume's end")


@pytest.mark.django_db(transaction=True)
@pytest.mark.unmeasured
@pytest.mark.skipif(ground.is_real, reason="there is one real cluster")
@pytest.mark.slow
def test_an_agent_remembers_where_it_moved_what_it_was_told_before(client: APIClient, two: list[Cluster]) -> None:
    owner = ApiOwner(client)
    owner.until("running")
    assert owner.say("say one") == "one"
    agent = owner.row()
    old = placement.place(agent.pk)
    (new,) = [one for one in two if one != old]
    moving.move(agent, to=new, actor=OPERATOR)
    owner.until_seen(lambda found: found["status"] == "running" and owner.row().generation == 2, "the moved one")
    assert owner.say("count") == "1"
    assert placement.place(agent.pk) == new
    Agent.objects.filter(pk=agent.pk).update(status=Status.PROVISIONING)
    moving.take_away_left()  # nothing is deleted while the pod is being replaced
    Agent.objects.filter(pk=agent.pk).update(status=Status.RUNNING)
    assert not has_no_volume(connections.of(old))
    assert connections.of(old).find(f"/api/v1/namespaces/{agent.namespace}") is None

    def is_taken_away() -> bool:
        sweeper.sweep()
        return place(agent) == (new.name, "", "")

    eventually(is_taken_away, within=40, what="the old volume's end")
    assert has_no_volume(connections.of(old))
    assert owner.say("count") == "2"
    assert client.delete(owner.path).status_code == 204
    eventually(lambda: owner.row().status == "deleted", within=60, what="the end")
    leaves_nothing(owner.row(), new)
