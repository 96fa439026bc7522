"""The observer with a cluster double: a moment after a change, the rows of pods show it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from agents.clusters import pod_rows, pods, probes, protected, reading, watching
from agents.clusters.api.client import Connection
from agents.clusters.api.place import Routes
from agents.clusters.models import Cluster, Pod
from agents.clusters.probes import Want, of_agents
from agents.models import Agent
from agents.runtimes import management
from agents.runtimes.base import Access
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from agents.runtimes.management import GatewayHealth
from config import background
from tests.agents.clusters.conftest import Observed
from tests.agents.clusters.observing import LABELS, observing
from tests.agents.conftest import MakeAgent
from tests.agents.runtimes.conftest import ACCESS, NAMESPACE, pod_spec
from tests.deploy import chart
from tests.doubles.kube_api import KubeApi


@pytest.fixture
def api(db: None, tmp_path: Path, settings: Settings) -> Iterator[KubeApi]:
    """The account `observe` has only the rights that the chart gives to the observer."""
    settings.POD_IMAGE = "registry.example/agentpods:1"
    settings.ENGINE_IMAGES = {"pi": "registry.example/pi:1"}
    with KubeApi(tmp_path / "cluster", bookmark_seconds=0.5) as found:
        found.allow("observe", chart.rules("observe"))
        yield found


@pytest.fixture
def runtime() -> KubernetesRuntime:
    return KubernetesRuntime(gone_seconds=5)


def test_a_pod_is_seen_to_come_up_to_stop_and_to_go(observed: Observed, runtime: KubernetesRuntime) -> None:
    turns = observed()
    runtime.deploy(pod_spec())
    pod = turns.row(NAMESPACE, phase="ready")
    assert pod.gateway_alive
    assert pod.pod_ip is not None
    assert pod.since is not None
    runtime.stop(NAMESPACE)
    turns.row(NAMESPACE, phase="stopped", gateway_alive=False)
    runtime.delete(NAMESPACE, agent_id="agt_abc", data=True)
    turns.until(lambda: not Pod.objects.exists())


def test_what_is_not_ours_is_not_seen(api: KubeApi, observed: Observed) -> None:
    for name, labels in {"kube-system": {}, "pod-x-1": {**LABELS, "agentpods.dev/installation": "theirs"}}.items():
        api.put("Namespace", {"metadata": {"name": name, "labels": labels}})
    turns = observed()
    assert turns.cluster_cache.is_complete()
    assert not Pod.objects.exists()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events are read at once, and often."""
    monkeypatch.setattr(reading, "PATIENCE", timedelta(0))
    monkeypatch.setattr(probes, "EVENTS_PAUSE_SECONDS", 0.3)


@pytest.mark.sampled
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("script", "cause", "words"),
    [
        ("image", "IMAGE_PULL", "pull"),
        ("unschedulable", "NO_CAPACITY", "nodes are available"),
        ("volume", "VOLUME", "no space left in the storage pool"),
        ("mount", "VOLUME", "MountVolume"),
        ("crash", "CRASH_LOOP", "CrashLoopBackOff"),
        ("oom", "OOM", "OOMKilled"),
    ],
)
def test_why_a_pod_does_not_come_up_is_told_in_the_clusters_words(
    script: str,
    cause: str,
    words: str,
    api: KubeApi,
    observed: Observed,
    runtime: KubernetesRuntime,
) -> None:
    turns = observed()
    api.script(NAMESPACE, script)
    runtime.deploy(pod_spec())
    pod = turns.row(NAMESPACE, cause=cause)
    assert pod.message
    assert any(words in line for line in pod.evidence)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("script", ["evicted", "evicted-silently"])
def test_an_eviction_is_told_also_where_only_an_event_says_so(
    script: str, api: KubeApi, observed: Observed, runtime: KubernetesRuntime
) -> None:
    turns = observed()
    runtime.deploy(pod_spec())
    turns.row(NAMESPACE, phase="ready")
    api.script(NAMESPACE, "mount")  # the next pod starts slowly
    api.script(NAMESPACE, script)
    turns.until(lambda: any("Evicted" in line for line in Pod.objects.get().evidence))


def test_a_refusal_that_only_the_replica_set_meets_is_told(
    api: KubeApi, observed: Observed, runtime: KubernetesRuntime
) -> None:
    turns = observed()
    labels = {**LABELS, "pod-security.kubernetes.io/enforce": "restricted"}
    head = {"apiVersion": "v1", "kind": "Namespace"}
    rest = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    api.put("Namespace", {**head, "metadata": {"name": NAMESPACE, "labels": labels}, **rest})
    tight = {"metadata": {"name": "tight", "namespace": NAMESPACE}, "spec": {"hard": {"pods": "0"}}}
    api.put("ResourceQuota", {**head, "kind": "ResourceQuota", **tight})
    runtime.deploy(pod_spec())
    assert "exceeded quota: tight" in (turns.row(NAMESPACE, cause="QUOTA").message or "")


def test_a_node_that_is_lost_takes_its_pods_with_it(
    api: KubeApi, observed: Observed, runtime: KubernetesRuntime
) -> None:
    turns = observed()
    runtime.deploy(pod_spec())
    turns.row(NAMESPACE, phase="ready")
    api.lose_node("node")
    turns.row(NAMESPACE, cause="NODE_LOST", gateway_alive=False)


# What the observer writes.


def test_an_observer_with_nothing_to_see_asks_and_writes_nothing(
    api: KubeApi, observed: Observed, runtime: KubernetesRuntime
) -> None:
    turns = observed(wanted=of_agents)
    runtime.deploy(pod_spec())
    turns.row(NAMESPACE, phase="ready")
    turns.rest()
    requests, writes = api.requests, api.writes
    with CaptureQueriesContext(connection) as asked:
        for _ in range(5):
            turns.observer.turn()
    assert (api.requests, api.writes) == (requests, writes)
    assert {one["sql"].split()[0] for one in asked if "agents_cluster" not in one["sql"]} == {"SELECT"}


def test_the_reconciler_is_woken_by_what_matters(
    observed: Observed, make_agent: MakeAgent, api: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    agent = make_agent()
    turns = observed()
    monkeypatch.setattr(background, "on_commit", sent.append)
    Agent.objects.update(reconcile_at=None)
    KubernetesRuntime().deploy(pod_spec(agent.namespace, agent_id=agent.pk))
    turns.row(agent.namespace, phase="ready")
    assert Agent.objects.get().reconcile_at <= timezone.now()  # type: ignore[operator] # it has one now
    assert set(sent) == {"agents.reconcile_due"}


def test_the_reconciler_is_woken_by_an_object_that_strays(
    observed: Observed, make_agent: MakeAgent, api: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a repair would wait for the next scan. During an upgrade that is the next start of Celery beat."""
    sent: list[str] = []
    agent = make_agent()
    turns = observed()
    KubernetesRuntime().deploy(pod_spec(agent.namespace, agent_id=agent.pk))
    turns.until(lambda: Pod.objects.filter(seen__contains=F("kept"), secrets_seen__contains=F("secrets")).exists())
    turns.rest()
    monkeypatch.setattr(background, "on_commit", sent.append)
    for path in ("/api/v1/namespaces/{}/services/pod", "/api/v1/namespaces/{}/secrets/engine"):
        Agent.objects.update(reconcile_at=None)
        with contextlib.closing(Connection("administrator", api.kubeconfig())) as admin:
            admin.delete(path.format(agent.namespace))
        turns.until(lambda: Agent.objects.filter(reconcile_at__lte=timezone.now()).exists())
        assert sent == ["agents.reconcile_due"]
        KubernetesRuntime().repair(pod_spec(agent.namespace, agent_id=agent.pk))
        turns.until(lambda: Pod.objects.filter(seen__contains=F("kept"), secrets_seen__contains=F("secrets")).exists())
        turns.rest()
        sent.clear()


def test_an_agent_that_is_due_sooner_stays_so(make_agent: MakeAgent, db: None) -> None:
    agent, now = make_agent(), timezone.now()
    Agent.objects.update(reconcile_at=now - timedelta(seconds=5))
    pod_rows.make_due({agent.pk, "agt_nobody"}, now=now)
    assert Agent.objects.get().reconcile_at == now - timedelta(seconds=5)
    Agent.objects.update(reconcile_at=now + timedelta(seconds=5))
    pod_rows.make_due({agent.pk}, now=now)
    assert Agent.objects.get().reconcile_at == now


def test_what_could_not_be_written_is_written_later(
    observed: Observed, runtime: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, failures = observed(), [OperationalError("the database is away")] * 3
    real = pod_rows.write

    def write(*given: Any, **named: Any) -> set[str]:
        if failures:
            raise failures.pop()
        return real(*given, **named)

    monkeypatch.setattr(pod_rows, "write", write)
    runtime.deploy(pod_spec())
    turns.row(NAMESPACE, phase="ready")
    assert not failures


def test_a_row_whose_namespace_never_came_goes_when_it_is_old_enough(observed: Observed, row: Cluster) -> None:
    pods.make("pod-young-1", agent_id="agt_1", cluster=row, public_url=None)
    pods.make("pod-old-1", agent_id="agt_2", cluster=row, public_url=None)
    Pod.objects.filter(pk="pod-old-1").update(made_at=timezone.now() - timedelta(seconds=61))
    turns = observed()
    turns.until(lambda: not Pod.objects.filter(pk="pod-old-1").exists())
    assert Pod.objects.filter(pk="pod-young-1").exists()


def test_what_is_only_missing_here_is_asked_for_before_its_row_goes(
    api: KubeApi, observed: Observed, runtime: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = observed()
    runtime.deploy(pod_spec())
    turns.row(NAMESPACE, phase="ready")
    Pod.objects.update(made_at=timezone.now() - timedelta(seconds=61))
    monkeypatch.setattr(turns.cluster_cache._namespaces, "namespaces", set)  # as after a list of an old cache
    turns.cluster_cache._sweep_at, before = 0.0, api.requests
    turns.until(lambda: api.requests > before)
    turns.observer.turn()
    assert Pod.objects.filter(pk=NAMESPACE).exists()


# What gateways report.


def test_a_revision_is_known_once_the_gateway_has_told_it_and_unknown_in_the_pods_next_life(
    api: KubeApi, observed: Observed, runtime: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {"phase": "ready", "revision": 7}
    asked: list[Access] = []

    def health(endpoint: Any, access: Access, *, seconds: float) -> GatewayHealth:
        asked.append(access)
        return GatewayHealth(revision=8, has_key=True, engine=dict(told), bridge_bytes=told["revision"] and 40)

    monkeypatch.setattr(management, "health", health)
    turns = observed(wanted=lambda _: {NAMESPACE: Want(revision=7, access=ACCESS)})
    runtime.deploy(pod_spec())
    turns.row(NAMESPACE, phase="ready", revision=7, bridge_bytes=40)
    assert set(asked) == {ACCESS}
    told["revision"] = None  # the engine has not reported a revision yet
    api.kill(NAMESPACE, "engine")
    turns.row(NAMESPACE, revision=None, restarts=1, bridge_bytes=None)


def test_another_observer_goes_on_with_what_was_written(
    observed: Observed, runtime: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = observed()
    runtime.deploy(pod_spec())
    turns.row(NAMESPACE, phase="ready")
    Pod.objects.update(revision=7, bridge_bytes=40)
    turns.observer.close()
    written: list[Any] = []
    monkeypatch.setattr(pod_rows, "write", lambda *given, **named: written.append(given))
    observed()
    assert written == []
    assert (Pod.objects.get().revision, Pod.objects.get().bridge_bytes) == (7, 40)


# The lease.


def test_one_observer_at_a_time_and_the_next_when_it_ends(observed: Observed, row: Cluster) -> None:
    first = observed()
    with observing() as second:
        second.observer.turn()
        assert not second.observer._caches
        first.observer.close()
        second.observer._renew_at = 0.0
        second.observer.turn()
        row.refresh_from_db()
        assert row.observer == second.observer.name


def test_an_observer_that_was_thought_dead_writes_nothing_any_more(
    observed: Observed, runtime: KubernetesRuntime, row: Cluster
) -> None:
    slow = observed()
    Cluster.objects.update(observer_until=timezone.now() - timedelta(seconds=1))
    next_one = observed()
    runtime.deploy(pod_spec())
    next_one.row(NAMESPACE, phase="ready")
    Pod.objects.update(phase="starting")
    slow.until(lambda: not slow.observer._caches)  # so it finds out when it renews its lease
    assert Pod.objects.get().phase == "starting"


def test_what_was_not_written_because_the_lease_had_ended_is_written_once_it_is_held_again(
    observed: Observed, runtime: KubernetesRuntime
) -> None:
    turns = observed()
    turns.observer._renew_at = float("inf")
    Cluster.objects.update(observer_until=timezone.now() - timedelta(seconds=1))
    runtime.deploy(pod_spec())
    turns.until(lambda: not turns.cluster_cache.is_written)
    assert Pod.objects.get().phase == "starting"
    turns.row(NAMESPACE, phase="ready")


# Failures.


def test_a_cluster_that_is_away_is_not_seen_alive_and_everything_is_seen_when_it_is_back(
    api: KubeApi, observed: Observed, runtime: KubernetesRuntime
) -> None:
    turns = observed()
    runtime.deploy(pod_spec())
    turns.row(NAMESPACE, phase="ready")
    assert turns.cluster_cache.is_alive()
    api.stop()
    turns.until(lambda: not turns.cluster_cache.is_alive())
    Pod.objects.update(phase="starting")
    api.kill(NAMESPACE, "engine", oom=True)
    api.start()
    turns.row(NAMESPACE, phase="ready", restarts=1, cause="OOM")
    turns.until(turns.cluster_cache.is_alive)


def test_a_watch_that_is_cut_silently_is_noticed(
    api: KubeApi, observed: Observed, runtime: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "SILENCE_SECONDS", 1.0)
    turns = observed()
    api.wait(lambda: api.watching == 3 + len(protected.kinds(Routes())))
    api.cut_watches(silently=True)
    runtime.deploy(pod_spec())
    turns.row(NAMESPACE, phase="ready")


def test_who_is_refused_by_a_cluster_asks_it_now_and_then(api: KubeApi, row: Cluster) -> None:
    api.fail("*", "", status=403, times=-1)
    with observing() as turns:
        ends = time.monotonic() + 2
        turns.until(lambda: time.monotonic() > ends)
        assert 1 <= api.requests <= 4
    api.heal()


def test_a_cluster_that_cannot_be_reached_keeps_nobody_from_seeing_another(
    api: KubeApi, row: Cluster, runtime: KubernetesRuntime
) -> None:
    Cluster.objects.create(name="another", routing="none", kubeconfig="clusters: [", capacity=0)
    sealed = Cluster.objects.create(name="sealed", routing="none", kubeconfig="clusters: []", capacity=0)
    with connection.cursor() as cursor:  # as if it was encrypted with a key that is lost
        cursor.execute("UPDATE agents_cluster SET kubeconfig = 'nonsense' WHERE id = %s", [sealed.pk])
    with observing() as turns:
        runtime.deploy(pod_spec())
        turns.row(NAMESPACE, phase="ready")


def test_new_credentials_are_used_without_a_restart(api: KubeApi, row: Cluster, runtime: KubernetesRuntime) -> None:
    Cluster.objects.update(kubeconfig=api.kubeconfig("nobody"))
    api.allow("nobody", [])
    with observing() as turns:
        turns.until(lambda: turns.cluster_cache)
        Cluster.objects.update(kubeconfig=api.kubeconfig())
        turns.observer._renew_at = 0.0
        runtime.deploy(pod_spec())
        turns.row(NAMESPACE, phase="ready")


def test_a_call_after_the_end_of_a_connection_leaves_nothing_open(api: KubeApi) -> None:
    """A thread may still use the connection while the cluster's row changes."""
    connection = Connection("one", api.kubeconfig("observe"))
    connection.close()
    connection.get("/api/v1/namespaces")
    (client,) = connection._clients
    assert len(client.rest_client.pool_manager.pools) == 0
