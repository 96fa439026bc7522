"""A cluster in many kinds of trouble: no orphan, no duplicate, and nothing reported that is not true."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from agents.clusters import connections
from agents.models import Agent, Cluster, Reason
from agents.running import lifecycle, sweeper
from agents.runtimes import current_runtime
from agents.watching import explanation
from tests.agents.clusters import living
from tests.agents.clusters.living import WITHIN, create, delete, leaves_nothing, one_pod_each, until
from tests.agents.pod.bridge.process import eventually
from tests.doubles.kube_api import KubeApi

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]

OUTAGE_SECONDS = 2.0


@pytest.fixture
def api(tmp_path: Path, settings: Settings, catalog: None) -> Iterator[KubeApi]:
    with living.cluster(tmp_path, settings) as found:
        yield found


@pytest.fixture
def agents(owner: User, api: KubeApi) -> list[str]:
    return create(owner)


SLOWER = [pytest.param(trouble, marks=pytest.mark.slow) for trouble in ("429", "hangs up", "slow", "away")]


@pytest.mark.sampled
@pytest.mark.parametrize("trouble", ["500", *SLOWER])
def test_agents_come_up_and_go_through_a_server_in_trouble(owner: User, api: KubeApi, trouble: str) -> None:
    with troubled(api, trouble):
        agents = create(owner)
        until("running", agents)
    one_pod_each(api, agents)
    with troubled(api, trouble):
        delete(agents)
        until("deleted", agents)
    leaves_nothing(api)


@contextmanager
def troubled(api: KubeApi, trouble: str) -> Iterator[None]:
    """Bring the cluster into this trouble for some seconds."""
    match trouble:
        case "slow":
            api.fail(status=None, times=-1, delay=0.3)
        case "away":
            api.stop()
        case "hangs up":
            api.fail(status=0, times=-1)
        case _:
            api.fail(status=int(trouble), times=-1, retry_after=1)
    end = threading.Timer(OUTAGE_SECONDS, api.start if trouble == "away" else api.heal)
    end.start()
    try:
        yield
    finally:
        end.join()


@pytest.mark.sampled
def test_nothing_is_lost_while_the_watches_are_silent_and_all_is_seen_afterwards(
    owner: User, api: KubeApi, agents: list[str]
) -> None:
    until("running", agents)
    api.compact(as_event=True)
    api.cut_watches()
    (first, *_) = agents
    agent = Agent.objects.get(pk=first)
    lifecycle.pause(agent, reason=Reason.OWNER, actor="test")
    until("stopped", [first])
    until("running", agents[1:])


@pytest.mark.sampled
def test_stale_lists_bring_nothing_back(owner: User, api: KubeApi, agents: list[str]) -> None:
    until("running", agents)
    api.stale()
    api.compact(as_event=True)
    delete(agents[:3])
    until("deleted", agents[:3])
    until("running", agents[3:])
    api.fresh()
    one_pod_each(api, agents[3:])


@pytest.mark.sampled
def test_a_namespace_stuck_on_a_finalizer_is_told_and_goes_on_when_it_is_freed(
    owner: User, api: KubeApi, agents: list[str]
) -> None:
    until("running", agents)
    (stuck, *others) = agents
    namespace = Agent.objects.get(pk=stuck).namespace
    api.finalizer(namespace, on="pod")
    delete(agents)
    until("deleted", others)

    def told() -> bool:
        agent = Agent.objects.get(pk=stuck)
        return agent.cause == "DELETING" and "example.com/held" in agent.cause_message

    eventually(told, within=60, what="the finalizer's name")
    api.drop_finalizer(namespace, on="pod")
    Agent.objects.filter(pk=stuck).update(reconcile_at=timezone.now())
    until("deleted", [stuck])
    leaves_nothing(api)


def test_a_pod_that_somebody_else_removed_is_built_again_with_its_volume(owner: User, api: KubeApi) -> None:
    (agent,) = create(owner, 1)
    until("running", [agent])
    before = Agent.objects.get(pk=agent)
    lifecycle.pause(before, reason=Reason.OWNER, actor="test")
    until("stopped", [agent])
    lifecycle.resume(Agent.objects.get(pk=agent), actor="test")
    until("running", [agent])
    (volume,) = [one["metadata"]["name"] for one in api.objects("PersistentVolume")]
    remove_namespace(before.namespace)

    def again() -> bool:
        now = Agent.objects.get(pk=agent)
        return now.generation == 2 and now.status == "running"

    eventually(again, within=WITHIN, what="the next generation")
    assert [one["metadata"]["name"] for one in api.objects("PersistentVolume")] == [volume]
    one_pod_each(api, [agent])


def test_an_agent_of_a_restored_dump_finds_the_disk_of_its_later_pod(owner: User, api: KubeApi) -> None:
    (agent,) = create(owner, 1)
    runs_as(agent, 1)
    dumped = Agent.objects.get(pk=agent)
    for generation in (2, 3):
        lifecycle.rebuild(Agent.objects.get(pk=agent), actor="test")
        runs_as(agent, generation)
    (volume,) = [one["metadata"]["name"] for one in api.objects("PersistentVolume")]
    dumped.save()  # this also restores the rows of pods, as a new observer finds them

    sweeper.sweep()  # it runs each minute
    runs_as(agent, 2)
    one_pod_each(api, [agent])
    assert [one["metadata"]["name"] for one in api.objects("PersistentVolume")] == [volume]


def runs_as(agent: str, generation: int) -> None:
    """Wait until the agent runs with this generation and needs no reconciliation."""
    wanted = Agent.objects.filter(pk=agent, status="running", generation=generation, reconcile_at=None)
    eventually(wanted.exists, within=WITHIN, what=f"generation {generation}")


def remove_namespace(namespace: str) -> None:
    connections.of(Cluster.objects.get()).delete(f"/api/v1/namespaces/{namespace}")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("script", "cause", "words"),
    [
        ("image", "IMAGE_PULL", "image"),
        ("unschedulable", "NO_CAPACITY", "nodes are available"),
        ("crash", "CRASH_LOOP", "exit code"),
        ("volume", "VOLUME", "volume"),
    ],
)
def test_explain_has_the_clusters_own_words(owner: User, api: KubeApi, script: str, cause: str, words: str) -> None:
    api.fail(method="PATCH", path_contains="/deployments/", status=500, times=2)  # until the script is in place
    (agent_id,) = create(owner, 1)
    api.script(Agent.objects.get(pk=agent_id).namespace, script)

    def explained() -> bool:
        return explanation.of(Agent.objects.get(pk=agent_id)).cause == cause

    eventually(explained, within=30, what=cause)
    told = explanation.of(Agent.objects.get(pk=agent_id))
    assert words in " ".join([told.message, *told.evidence]).lower()


@pytest.mark.parametrize(("script", "cause"), [("evicted", "EVICTED"), ("evicted-silently", "EVICTED"), ("oom", "OOM")])
def test_what_befalls_a_running_agent_is_explained_too(owner: User, api: KubeApi, script: str, cause: str) -> None:
    (agent_id,) = create(owner, 1)
    until("running", [agent_id])
    agent = Agent.objects.get(pk=agent_id)
    api.script(agent.namespace, script)

    def seen() -> bool:
        pod = current_runtime().observe(agent.suffix).get(agent.namespace)
        return pod is not None and pod.cause == cause

    eventually(seen, within=30, what=cause)
    assert explanation.of(Agent.objects.get(pk=agent_id)).cause == cause


def test_an_idle_fleet_writes_nothing_and_asks_nothing(owner: User, api: KubeApi, agents: list[str]) -> None:
    until("running", agents)
    eventually(lambda: is_quiet(api), within=WITHIN, what="quiet")


def is_quiet(api: KubeApi) -> bool:
    """Whether there is no write and no request within two seconds."""
    before = (api.writes, api.requests)
    time.sleep(2)
    return (api.writes, api.requests) == before
