"""Each repair is on the timeline, also of a change that came after the observer had looked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from agents.clusters.models import Cluster, Pod
from agents.runtimes.kubernetes.client import Connection, path_of
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.agents.runtimes.conftest import NAMESPACE
from tests.agents.runtimes.kubernetes.test_driver import comes_up, public_spec
from tests.deploy import chart
from tests.doubles.kube.api import STRATEGIC
from tests.doubles.kube_api import KubeApi

POLICY = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies/pod"
BINDING = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings/agentpods"
EVE = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}


@pytest.fixture
def administrator(cluster: KubeApi) -> Iterator[Connection]:
    with closing(Connection("administrator", cluster.kubeconfig())) as connection:
        yield connection


@pytest.fixture
def seen(runtime: KubernetesRuntime, cluster: KubeApi) -> KubernetesRuntime:
    """A pod that runs, of which the observer has seen that all is as it was told to be."""
    runtime.deploy(public_spec())
    comes_up(cluster)
    runtime.secure(NAMESPACE)
    Pod.objects.update(seen=Pod.objects.get().kept)
    return runtime


def once(monkeypatch: pytest.MonkeyPatch, method: str, about: str, deed: Callable[[], Any]) -> None:
    """`deed` is done right after the first call of this method that is about this path."""
    original = getattr(Connection, method)
    done: list[bool] = []

    def called(self: Connection, first: Any, *given: Any, **named: Any) -> Any:
        answer = original(self, first, *given, **named)
        if (first if isinstance(first, str) else path_of(first)) == about and not done:
            done.append(True)
            deed()
        return answer

    monkeypatch.setattr(Connection, method, called)


def lets_all_out(administrator: Connection) -> None:
    administrator.merge(POLICY, {"spec": {"egress": [{}]}})


def gives_rights_away(administrator: Connection) -> None:
    administrator.merge(BINDING, {"subjects": [EVE]})


def test_what_the_observer_has_not_seen_yet_is_told_too(seen: KubernetesRuntime, administrator: Connection) -> None:
    lets_all_out(administrator)
    gives_rights_away(administrator)
    administrator.delete(f"/api/v1/namespaces/{NAMESPACE}/services/pod")
    assert sorted(seen.repair(public_spec())) == [
        "NetworkPolicy/pod was changed",
        "RoleBinding/agentpods was changed",
        "Service/pod was gone",
    ]
    assert seen.repair(public_spec()) == []
    assert "RoleBinding/agentpods was changed" in Cluster.objects.get().breach


def test_what_is_changed_between_our_look_and_our_change_is_not_overwritten_in_silence(
    seen: KubernetesRuntime, administrator: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    once(monkeypatch, "find", POLICY, lambda: lets_all_out(administrator))
    assert seen.repair(public_spec()) == ["NetworkPolicy/pod was changed"]
    assert administrator.get(POLICY)["spec"]["egress"] != [{}]


def test_rights_that_are_taken_in_the_middle_of_a_repair_are_told(
    seen: KubernetesRuntime, administrator: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    once(monkeypatch, "apply", BINDING, lambda: gives_rights_away(administrator))
    assert seen.repair(public_spec()) == ["RoleBinding/agentpods was changed"]
    assert administrator.get(BINDING)["subjects"] != [EVE]


def test_an_object_that_changes_all_the_time_holds_up_nothing(
    seen: KubernetesRuntime, administrator: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, number = Connection.find, iter(range(100))

    def found(self: Connection, path: str) -> Any:
        answer = find(self, path)
        if path == POLICY:
            administrator.merge(POLICY, {"metadata": {"annotations": {"seen": str(next(number))}}})
        return answer

    gives_rights_away(administrator)
    monkeypatch.setattr(Connection, "find", found)
    assert seen.repair(public_spec()) == ["RoleBinding/agentpods was changed"]


def test_an_account_that_may_not_look_at_bindings_puts_back_all_the_same(
    cluster: KubeApi, seen: KubernetesRuntime, administrator: Connection
) -> None:
    """As that of an older chart."""
    rules = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if verb != "get" or rule["resources"] != ["rolebindings"]]}
        for rule in chart.rules("drive")
    ]
    cluster.allow(chart.username("drive"), rules)
    lets_all_out(administrator)
    gives_rights_away(administrator)
    assert "NetworkPolicy/pod was changed" in seen.repair(public_spec())
    assert administrator.get(BINDING)["subjects"] != [EVE]


def test_what_is_changed_of_a_stopped_pod_is_put_back_and_not_taken_over_when_it_starts(
    seen: KubernetesRuntime, cluster: KubeApi, administrator: Connection
) -> None:
    seen.stop(NAMESPACE)
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/pod"
    sidecar = {
        "spec": {"template": {"spec": {"containers": [{"name": "sidecar", "image": "registry.example/miner:1"}]}}}
    }
    administrator._call("PATCH", path, {"fieldManager": "somebody"}, body=sidecar, content=STRATEGIC)
    administrator.merge(f"/api/v1/namespaces/{NAMESPACE}/services/pod", {"spec": {"selector": {"a": "b"}}})
    lets_all_out(administrator)
    kept = Pod.objects.get().kept or {}
    seen.deploy(public_spec())
    containers = administrator.get(path)["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["engine", "gateway"]
    assert Pod.objects.get().kept == kept  # its volume too: a pod that was scaled down by hand is not secured again
    assert "NetworkPolicy/pod was changed" in Cluster.objects.get().breach


def test_a_volume_that_somebody_would_have_go_with_its_claim_is_kept_again(
    seen: KubernetesRuntime, cluster: KubeApi, administrator: Connection
) -> None:
    name = cluster.objects("PersistentVolume")[0]["metadata"]["name"]
    path = f"/api/v1/persistentvolumes/{name}"
    administrator.merge(path, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
    assert seen.repair(public_spec()) == [f"PersistentVolume/{name} was changed"]
    assert administrator.get(path)["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
