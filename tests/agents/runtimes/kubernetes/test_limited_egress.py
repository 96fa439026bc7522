"""In a cluster, the list of hosts is kept by the pod's network policy too."""

from __future__ import annotations

import dataclasses
from typing import Any

from agents.clusters import connections, policies
from agents.clusters.api import names
from agents.clusters.models import POLICY, Cluster, Enforcement, Pod
from agents.runtimes.base import PodSpec
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.agents.runtimes.conftest import NAMESPACE, pod_spec
from tests.doubles.kube_api import KubeApi


def limited(is_limited: bool | None) -> PodSpec:
    return dataclasses.replace(pod_spec(NAMESPACE), egress_limited=is_limited)


def internet(cluster: KubeApi) -> dict[str, Any]:
    """The rule of the pod's policy about the internet."""
    policy = cluster.get("NetworkPolicy", names.POD, NAMESPACE)
    assert policy is not None
    rule: dict[str, Any] = policy["spec"]["egress"][1]
    return rule


def pod_uids(cluster: KubeApi) -> list[str]:
    return [one["metadata"]["uid"] for one in cluster.objects("Pod") if one["metadata"]["namespace"] == NAMESPACE]


def test_the_policy_follows_the_list_and_the_pod_stays(runtime: KubernetesRuntime, cluster: KubeApi) -> None:
    runtime.deploy(limited(None))
    cluster.wait(lambda: bool(pod_uids(cluster)))
    before = pod_uids(cluster)
    assert "ports" not in internet(cluster)
    runtime.deploy(limited(True))
    assert {one["protocol"] for one in internet(cluster)["ports"]} == {"TCP"}
    assert not any(one["port"] <= names.LLM_PORT <= one["endPort"] for one in internet(cluster)["ports"])
    runtime.deploy(limited(False))
    assert "ports" not in internet(cluster)
    assert pod_uids(cluster) == before


def test_a_repair_keeps_the_policy_of_the_list(runtime: KubernetesRuntime, cluster: KubeApi) -> None:
    runtime.deploy(limited(True))
    runtime.repair(limited(True))
    assert "ports" in internet(cluster)


def observed(**changed: str) -> bool:
    """Whether the engine is kept to its list once the observer sees all objects as they were applied, or otherwise."""
    pod = Pod.objects.select_related("cluster").get(pk=NAMESPACE)
    pod.seen = {**(pod.kept or {}), **changed}
    return pod.is_kept_to_its_list


def test_the_list_is_kept_once_its_policy_was_applied_and_is_seen(
    runtime: KubernetesRuntime, cluster: KubeApi, row: Cluster
) -> None:
    runtime.deploy(limited(None))
    Cluster.objects.update(network_policies=Enforcement.ENFORCED)
    assert not observed()
    for make in (runtime.deploy, runtime.repair):
        make(limited(True))
        assert (observed(), observed(**{POLICY: "what was there before"})) == (True, False)
        make(limited(False))
        assert not observed()


def test_a_check_of_the_cluster_takes_note_of_the_policy_that_it_renews(
    runtime: KubernetesRuntime, cluster: KubeApi, row: Cluster
) -> None:
    runtime.deploy(limited(True))
    policies.renew(row, connections.of(row), connections.place(row))  # the agent has no list in the database
    Cluster.objects.update(network_policies=Enforcement.ENFORCED)
    assert (observed(), "ports" in internet(cluster)) == (False, False)
