"""What the driver changes in a cluster, and what it leaves behind if it is killed in the middle."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings

from agents.clusters import connections
from agents.clusters.api.client import ApiRefused, ClusterFailure, Connection
from agents.clusters.api.ending import StillThere
from agents.clusters.models import Cluster, Placement, Pod
from agents.runtimes.base import PodSpec, RuntimeFailure
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.agents.runtimes.conftest import AGENT, NAMESPACE, pod_spec
from tests.deploy import chart
from tests.doubles.kube_api import KubeApi

NEXT = "pod-abc-2"
WRITES = {"apply", "merge", "post", "delete"}


class DriverKilled(BaseException):
    """Ends the work as SIGKILL would: no code catches it."""


def public_spec(namespace: str = NAMESPACE, **changes: Any) -> PodSpec:
    return dataclasses.replace(pod_spec(namespace), public_url="https://abc.pods.example", **changes)


def is_up(cluster: KubeApi, namespace: str = NAMESPACE) -> bool:
    deployment = cluster.get("Deployment", "pod", namespace)
    return bool(deployment and deployment.get("status", {}).get("readyReplicas"))


def comes_up(cluster: KubeApi, namespace: str = NAMESPACE) -> None:
    cluster.wait(lambda: is_up(cluster, namespace))


def volumes(cluster: KubeApi) -> list[str]:
    return [one["metadata"]["name"] for one in cluster.objects("PersistentVolume")]


@pytest.fixture
def up(runtime: KubernetesRuntime, cluster: KubeApi) -> KubernetesRuntime:
    """A cluster with one pod that is ready."""
    runtime.deploy(public_spec())
    comes_up(cluster)
    return runtime


def killed_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """The worker dies right after change number `number` of the cluster. Returns a function that counts the changes."""
    made = 0

    def dying(change: Callable[..., Any]) -> Callable[..., Any]:
        def once(self: Connection, *given: Any, **named: Any) -> Any:
            nonlocal made
            answer = change(self, *given, **named)
            made += 1
            if made == number:
                raise DriverKilled
            return answer

        return once

    for name in WRITES:
        monkeypatch.setattr(Connection, name, dying(getattr(Connection, name)))
    return lambda: made


def test_a_pod_has_a_namespace_with_all_that_it_needs(up: KubernetesRuntime, cluster: KubeApi) -> None:
    names = {
        kind: sorted(one["metadata"]["name"] for one in cluster.objects(kind, NAMESPACE))
        for kind in ("ResourceQuota", "LimitRange", "NetworkPolicy", "Secret", "Service", "HTTPRoute")
    }
    assert names == {
        "ResourceQuota": ["pod"],
        "LimitRange": ["pod"],
        "NetworkPolicy": ["pod"],
        "Secret": ["engine", "gateway"],
        "Service": ["pod"],
        "HTTPRoute": ["pod"],
    }
    claim = cluster.get("PersistentVolumeClaim", "data", NAMESPACE)
    assert claim
    assert claim["status"]["phase"] == "Bound"


def test_the_row_and_the_place_are_written_before_the_first_call(runtime: KubernetesRuntime, cluster: KubeApi) -> None:
    cluster.stop()
    with pytest.raises(ClusterFailure):
        runtime.deploy(public_spec())
    assert Pod.objects.get().namespace == NAMESPACE
    assert Placement.objects.get().agent_id == AGENT


def test_a_new_pod_takes_one_call_for_each_object_and_one_for_a_volume_left_behind(
    runtime: KubernetesRuntime, cluster: KubeApi
) -> None:
    runtime.deploy(public_spec())  # this call also asks, once, for our own account's name
    before, writes = cluster.requests, cluster.writes
    runtime.deploy(public_spec("pod-def-1", agent_id="agt_def"))
    objects = [cluster.get("Namespace", "pod-def-1")]
    for kind in (
        "RoleBinding",
        "ResourceQuota",
        "LimitRange",
        "NetworkPolicy",
        "Secret",
        "Service",
        "PersistentVolumeClaim",
        "HTTPRoute",
        "Deployment",
    ):
        objects += cluster.objects(kind, "pod-def-1")
    assert cluster.writes - writes == len(objects) == 11
    assert cluster.requests - before == len(objects) + 1


def test_rights_that_count_a_moment_later_are_waited_for_and_not_given_twice(
    runtime: KubernetesRuntime, cluster: KubeApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    apply = Connection.apply
    applied: list[str] = []

    def noted(self: Connection, manifest: dict[str, Any]) -> dict[str, Any]:
        applied.append(manifest["kind"])
        return apply(self, manifest)

    monkeypatch.setattr(Connection, "apply", noted)
    cluster.settle_rights(0.3)
    runtime.deploy(public_spec())
    assert applied.count("RoleBinding") == 1
    assert "rights were missing" not in caplog.text


def test_deploying_what_runs_writes_nothing(up: KubernetesRuntime, cluster: KubeApi) -> None:
    before = cluster.writes
    up.deploy(public_spec())
    assert cluster.writes == before


def test_a_new_tier_replaces_the_pod_and_grows_its_disk(up: KubernetesRuntime, cluster: KubeApi) -> None:
    spec = public_spec()
    limits = dataclasses.replace(spec.limits, memory_bytes=2**30, disk_bytes=5 * 2**30)
    up.deploy(dataclasses.replace(spec, limits=limits))
    claim, deployment = (
        cluster.get("PersistentVolumeClaim", "data", NAMESPACE),
        cluster.get("Deployment", "pod", NAMESPACE),
    )
    assert claim
    assert deployment
    assert claim["spec"]["resources"]["requests"]["storage"] == str(5 * 2**30)
    engine = deployment["spec"]["template"]["spec"]["containers"][1]
    assert engine["resources"]["limits"]["memory"] == str(2**30 + 64 * 2**20)


def test_what_is_not_ours_is_never_adopted(runtime: KubernetesRuntime, cluster: KubeApi) -> None:
    cluster.put("Namespace", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    before = cluster.get("Namespace", NAMESPACE)
    with pytest.raises(RuntimeFailure, match="exists, but does not belong to us") as refused:
        runtime.deploy(public_spec())
    assert refused.value.permanent
    with pytest.raises(RuntimeFailure, match="so it is not removed"):
        runtime.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert cluster.get("Namespace", NAMESPACE) == before
    assert not cluster.objects("ResourceQuota", NAMESPACE)


def test_a_stopped_pod_keeps_its_volume_whatever_becomes_of_its_namespace(
    up: KubernetesRuntime, cluster: KubeApi
) -> None:
    up.stop(NAMESPACE)
    cluster.wait(lambda: not cluster.objects("Pod", NAMESPACE))
    (volume,) = cluster.objects("PersistentVolume")
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["metadata"]["labels"]["agentpods.dev/agent"] == AGENT
    before = cluster.writes
    up.stop(NAMESPACE)
    assert cluster.writes == before


def test_a_volume_that_its_class_retains_goes_with_an_agent_that_never_came_up(
    up: KubernetesRuntime, cluster: KubeApi
) -> None:
    """The volume has no label of ours yet, and we must not change volumes without our label."""
    cluster.wait(lambda: cluster.objects("PersistentVolume"))
    (volume,) = cluster.objects("PersistentVolume")
    assert "labels" not in volume["metadata"]
    cluster.put("PersistentVolume", {**volume, "spec": {**volume["spec"], "persistentVolumeReclaimPolicy": "Retain"}})
    up.delete(NAMESPACE, agent_id=AGENT, data=True)
    cluster.wait(lambda: not cluster.objects("PersistentVolume"))


def test_a_deleted_agent_leaves_nothing(up: KubernetesRuntime, cluster: KubeApi) -> None:
    up.stop(NAMESPACE)
    up.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert cluster.get("Namespace", NAMESPACE) is None
    cluster.wait(lambda: not volumes(cluster))
    assert not Pod.objects.exists()
    assert not Placement.objects.exists()


def test_the_next_generation_has_the_volume_of_the_last(up: KubernetesRuntime, cluster: KubeApi) -> None:
    (volume,) = volumes(cluster)
    up.delete(NAMESPACE, agent_id=AGENT, data=False)
    assert cluster.get("Namespace", NAMESPACE) is None
    up.deploy(public_spec(NEXT))
    comes_up(cluster, NEXT)
    assert volumes(cluster) == [volume]
    claim = cluster.get("PersistentVolumeClaim", "data", NEXT)
    assert claim
    assert (claim["status"]["phase"], claim["spec"]["volumeName"]) == ("Bound", volume)
    up.delete(NEXT, agent_id=AGENT, data=True)
    cluster.wait(lambda: not volumes(cluster))


def test_what_holds_a_namespace_is_named(up: KubernetesRuntime, cluster: KubeApi) -> None:
    quick = KubernetesRuntime(gone_seconds=0.5)
    cluster.finalizer(NAMESPACE, on="pod")
    with pytest.raises(StillThere, match=r"example\.com/held") as held:
        quick.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert held.value.cause == "DELETING"
    assert Pod.objects.exists()
    with pytest.raises(StillThere):
        quick.deploy(public_spec())
    cluster.drop_finalizer(NAMESPACE, on="pod")
    up.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert not Pod.objects.exists()


def test_a_deploy_that_is_killed_anywhere_is_finished_by_the_next(
    runtime: KubernetesRuntime, cluster: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 0
    while True:
        number += 1
        namespace = f"pod-abc-{number}"
        with monkeypatch.context() as patch:
            made = killed_at(patch, number)
            try:
                runtime.deploy(public_spec(namespace))
            except DriverKilled:
                pass
            else:
                break
        runtime.deploy(public_spec(namespace))
        comes_up(cluster, namespace)
        runtime.delete(namespace, agent_id=AGENT, data=True)
    assert made() == number - 1 >= 10


def test_a_removal_that_is_killed_anywhere_is_finished_by_the_next(
    runtime: KubernetesRuntime, cluster: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 3):
        namespace = f"pod-abc-{number}"
        runtime.deploy(public_spec(namespace))
        comes_up(cluster, namespace)
        runtime.stop(namespace)
        with monkeypatch.context() as patch:
            killed_at(patch, number)
            try:
                runtime.delete(namespace, agent_id=AGENT, data=True)
            except DriverKilled:
                runtime.delete(namespace, agent_id=AGENT, data=True)
        cluster.wait(lambda: not volumes(cluster))
        assert cluster.get("Namespace", namespace) is None
        assert not Pod.objects.exists()
        assert not Placement.objects.exists()


def test_a_move_that_is_killed_anywhere_loses_no_volume(
    runtime: KubernetesRuntime, cluster: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime.deploy(public_spec("pod-abc-1"))
    comes_up(cluster, "pod-abc-1")
    (volume,) = volumes(cluster)
    for number in range(1, 15):
        old, new = f"pod-abc-{number}", f"pod-abc-{number + 1}"
        with monkeypatch.context() as patch:
            killed_at(patch, number)
            try:
                runtime.delete(old, agent_id=AGENT, data=False)
                runtime.deploy(public_spec(new))
            except DriverKilled:
                runtime.delete(old, agent_id=AGENT, data=False)
                runtime.deploy(public_spec(new))
        comes_up(cluster, new)
        assert volumes(cluster) == [volume]


def test_a_pod_whose_node_does_not_answer_is_not_replaced_by_a_newer_releases(
    up: KubernetesRuntime, cluster: KubeApi, settings: Settings
) -> None:
    """The pod may still live and answer."""
    before = cluster.objects("Deployment")[0]["spec"]
    settings.POD_IMAGE = "registry.example/agentpods:next"
    Pod.objects.update(phase="unhealthy", gateway_alive=False, cause="NODE_LOST", deployed=None)
    up.deploy(public_spec())
    assert cluster.objects("Deployment")[0]["spec"] == before
    Pod.objects.update(cause=None)
    up.deploy(public_spec())
    assert cluster.objects("Deployment")[0]["spec"] != before


@pytest.mark.parametrize("status", [429, 500, 503, 0], ids=["busy", "in trouble", "away", "hangs up"])
def test_a_call_that_failed_is_made_again(runtime: KubernetesRuntime, cluster: KubeApi, status: int) -> None:
    cluster.fail(path_contains="/secrets/", status=status)
    try:
        runtime.deploy(public_spec())
    except ClusterFailure:
        runtime.deploy(public_spec())
    comes_up(cluster)


def test_a_server_that_asks_for_a_long_pause_is_not_waited_for(runtime: KubernetesRuntime, cluster: KubeApi) -> None:
    cluster.fail(status=429, times=-1, retry_after=600)
    with pytest.raises(ClusterFailure, match="busy or in trouble"):
        runtime.deploy(public_spec())


def test_a_cluster_that_is_down_is_left_alone_after_some_calls(runtime: KubernetesRuntime, cluster: KubeApi) -> None:
    cluster.fail(status=500, times=-1)
    for _ in range(5):
        with pytest.raises(ClusterFailure):
            runtime.deploy(public_spec())
    asked = cluster.requests
    with pytest.raises(ClusterFailure, match="not called for some seconds"):
        runtime.deploy(public_spec())
    assert cluster.requests == asked


def test_what_the_cluster_refuses_is_said_in_its_own_words(
    runtime: KubernetesRuntime, cluster: KubeApi, row: Cluster
) -> None:
    cluster.allow(chart.username("drive"), [])
    with pytest.raises(ApiRefused, match="cannot create resource") as refused:
        runtime.deploy(public_spec())
    assert (refused.value.status, refused.value.cause) == (403, "FORBIDDEN")


def test_other_credentials_are_taken_up_without_a_restart(
    up: KubernetesRuntime, cluster: KubeApi, row: Cluster
) -> None:
    Cluster.objects.filter(pk=row.pk).update(kubeconfig=cluster.kubeconfig("nobody-knows-this-one"))
    cluster.allow("nobody-knows-this-one", [])
    with pytest.raises(ApiRefused):
        up.stop(NAMESPACE)
    row.save()
    up.stop(NAMESPACE)


def test_an_endpoint_is_the_hostname_for_visitors_and_the_pod_for_us(up: KubernetesRuntime) -> None:
    assert up.endpoint(NAMESPACE) is None  # the observer has not seen it yet
    Pod.objects.update(pod_ip="10.1.2.3")
    endpoint = up.endpoint(NAMESPACE)
    assert endpoint
    assert (endpoint.public_url, endpoint.management_url) == ("https://abc.pods.example", "https://10.1.2.3:8081")


def test_a_pod_without_a_route_is_reached_at_its_own_address(runtime: KubernetesRuntime, row: Cluster) -> None:
    Cluster.objects.update(routing="none")
    runtime.deploy(public_spec())
    Pod.objects.update(pod_ip="fd00::5")
    endpoint = runtime.endpoint(NAMESPACE)
    assert endpoint
    assert endpoint.public_url == "http://[fd00::5]:8080"


def test_one_agents_trouble_does_not_have_the_cluster_left_alone(up: KubernetesRuntime, cluster: KubeApi) -> None:
    cluster.fail(path_contains="/namespaces/pod-def-1/s", status=500, times=-1)
    with pytest.raises(ClusterFailure):
        up.deploy(public_spec("pod-def-1", agent_id="agt_def"))
    up.stop(NAMESPACE)
    assert cluster.get("Deployment", "pod", "pod-def-1") is None
    cluster.heal()
    up.deploy(public_spec("pod-def-1", agent_id="agt_def"))
    comes_up(cluster, "pod-def-1")


def test_one_call_at_a_time_is_enough(runtime: KubernetesRuntime, cluster: KubeApi, settings: Settings) -> None:
    settings.KUBERNETES_MAX_CALLS = 1
    cluster.fail(status=None, times=-1, delay=1.0)
    runtime.deploy(public_spec())
    cluster.heal()
    comes_up(cluster)


def test_a_connection_that_is_closed_between_two_calls_is_a_failure_that_is_tried_again(row: Cluster) -> None:
    connection = connections.of(row)
    assert connection.at_once([lambda: 1, lambda: 2]) == [1, 2]
    pool = connection._pool()
    pool.shutdown()
    with pytest.raises(ClusterFailure, match="the credentials were changed"):
        connection.at_once([lambda: 1])
