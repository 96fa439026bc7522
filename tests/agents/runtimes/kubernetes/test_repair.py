"""Each repair is on the timeline, even of a change that came after the observer's look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from agents.clusters import connections, policies
from agents.clusters.api import digests
from agents.clusters.api.client import ClusterFailure, Connection, path_of
from agents.clusters.models import Cluster, Pod
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.agents.runtimes.conftest import NAMESPACE
from tests.agents.runtimes.kubernetes.test_driver import comes_up, public_spec
from tests.deploy import chart
from tests.doubles.kube.api import STRATEGIC
from tests.doubles.kube_api import KubeApi

# Other threads write some of the notes.
pytestmark = pytest.mark.django_db(transaction=True)

POLICY = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies/pod"
BINDING = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings/agentpods"
SERVICE = f"/api/v1/namespaces/{NAMESPACE}/services/pod"
EVE = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}


@pytest.fixture
def administrator(cluster: KubeApi) -> Iterator[Connection]:
    with closing(Connection("administrator", cluster.kubeconfig())) as connection:
        yield connection


@pytest.fixture
def seen(runtime: KubernetesRuntime, cluster: KubeApi) -> KubernetesRuntime:
    """A running pod. The observer has seen that all its objects are as they should be."""
    runtime.deploy(public_spec())
    comes_up(cluster)
    runtime.secure(NAMESPACE)
    pod = Pod.objects.get()
    Pod.objects.update(seen=pod.kept, secrets_seen=pod.secrets)
    return runtime


def once(monkeypatch: pytest.MonkeyPatch, method: str, about: str, deed: Callable[[], Any]) -> None:
    """`deed` is called right after the first call of this method for this path."""
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
    seen.told(NAMESPACE, seen.repair(public_spec()))
    assert seen.repair(public_spec()) == []
    assert "RoleBinding/agentpods was changed" in Cluster.objects.get().breach


def test_what_is_changed_between_our_look_and_our_change_is_not_overwritten_in_silence(
    seen: KubernetesRuntime, administrator: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    once(monkeypatch, "find", POLICY, lambda: lets_all_out(administrator))
    assert seen.repair(public_spec()) == ["NetworkPolicy/pod was changed"]
    assert administrator.get(POLICY)["spec"]["egress"] != [{}]


@pytest.mark.parametrize("path", [SERVICE, POLICY, BINDING])
def test_what_is_deleted_between_our_look_and_our_change_is_told_too(
    seen: KubernetesRuntime, administrator: Connection, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """If an apply names the version of an object that is gone, an API server does not refuse, but makes it anew."""
    name = digests.key(administrator.get(path))
    once(monkeypatch, "find", path, lambda: administrator.delete(path))
    assert seen.repair(public_spec()) == [f"{name} was gone"]


def test_what_a_repair_put_back_before_it_failed_is_told_by_the_next_one(
    seen: KubernetesRuntime, administrator: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def times_out() -> None:
        raise ClusterFailure("double", "PATCH was not answered")

    administrator.delete(SERVICE)
    lets_all_out(administrator)
    once(monkeypatch, "apply", f"/api/v1/namespaces/{NAMESPACE}/limitranges/pod", times_out)
    with pytest.raises(ClusterFailure):
        seen.repair(public_spec())
    assert administrator.get(SERVICE)
    for _ in range(2):  # the repair reports them until they are on the timeline
        assert seen.repair(public_spec()) == ["NetworkPolicy/pod was changed", "Service/pod was gone"]
    seen.told(NAMESPACE, ["NetworkPolicy/pod was changed", "Service/pod was gone"])
    assert seen.repair(public_spec()) == []


def test_rights_that_another_call_gave_us_anew_are_told_by_a_repair(
    seen: KubernetesRuntime, administrator: Connection
) -> None:
    administrator.delete(BINDING)
    seen.expect_data(public_spec())
    assert seen.observe()[NAMESPACE].strayed
    assert seen.repair(public_spec()) == ["RoleBinding/agentpods was gone"]
    assert "RoleBinding/agentpods was gone" in Cluster.objects.get().breach


def test_a_policy_that_was_weakened_is_told_though_an_operator_renews_all_of_them(
    seen: KubernetesRuntime, administrator: Connection
) -> None:
    lets_all_out(administrator)
    cluster = Cluster.objects.get()
    assert policies.renew(cluster, connections.of(cluster), connections.place(cluster)) == []
    assert seen.repair(public_spec()) == ["NetworkPolicy/pod was changed"]


def test_a_secret_that_somebody_made_again_is_not_theirs_for_long(
    seen: KubernetesRuntime, administrator: Connection
) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/engine"
    ours = administrator.get(path)
    administrator.delete(path)
    metadata = {name: ours["metadata"][name] for name in ("name", "namespace")}
    theirs = {**ours, "metadata": metadata, "data": {"start.json": "ZXZl"}}
    administrator.post(path.rpartition("/")[0], theirs)
    assert seen.repair(public_spec()) == ["Secret/engine was gone"]
    assert administrator.get(path)["data"] == ours["data"]


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
    """An older chart's account may not."""
    rules = [
        {**rule, "verbs": [verb for verb in rule["verbs"] if verb != "get" or rule["resources"] != ["rolebindings"]]}
        for rule in chart.rules("drive")
    ]
    cluster.allow(chart.username("drive"), rules)
    lets_all_out(administrator)
    gives_rights_away(administrator)
    assert "NetworkPolicy/pod was changed" in seen.repair(public_spec())
    assert administrator.get(BINDING)["subjects"] != [EVE]


def test_an_ingress_that_was_changed_is_given_the_clusters_default_class_again(
    runtime: KubernetesRuntime, cluster: KubeApi, administrator: Connection
) -> None:
    cluster.install(chart.accounts(values={"hosting": {"routing": "ingress"}}))
    Cluster.objects.update(routing="ingress")
    runtime.deploy(public_spec())
    path = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/ingresses/pod"
    before = administrator.get(path)["spec"]
    administrator.merge(path, {"spec": {"rules": [{"host": "evil.example"}]}})
    Pod.objects.update(seen=Pod.objects.get().kept)
    assert "Ingress/pod was changed" in runtime.repair(public_spec())
    assert (administrator.get(path)["spec"], before["ingressClassName"]) == (before, "usual")


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
    assert [one["name"] for one in containers] == ["gateway", "engine"]
    # With its volume too: the volume of a pod that was scaled down by hand is not secured again.
    assert Pod.objects.get().kept == kept
    assert "NetworkPolicy/pod was changed" in Cluster.objects.get().breach


def test_a_volume_that_somebody_would_have_go_with_its_claim_is_kept_again(
    seen: KubernetesRuntime, cluster: KubeApi, administrator: Connection
) -> None:
    name = cluster.objects("PersistentVolume")[0]["metadata"]["name"]
    path = f"/api/v1/persistentvolumes/{name}"
    administrator.merge(path, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
    assert seen.repair(public_spec()) == [f"PersistentVolume/{name} was changed"]
    assert administrator.get(path)["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
