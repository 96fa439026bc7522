"""In a cluster, the list of hosts is kept by the pod's network policy too."""

from __future__ import annotations

import dataclasses
from typing import Any

from agents.clusters.api import names
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
