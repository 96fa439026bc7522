"""Pods cannot reach their own cluster: which open networks a check finds, and what happens to existing pods."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from agents.clusters import checking, connections
from agents.models import Cluster, Pod
from tests.agents.clusters.scripted import ScriptedCluster

NODES = "/api/v1/nodes"
SERVICE = "/api/v1/namespaces/default/services/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, settings: Any) -> ScriptedCluster:
    """A scripted cluster that has only private addresses. Connections of all rows lead there."""
    settings.POD_IMAGE = "images.example.com/agentpods"
    found = ScriptedCluster()
    found.documents[NODES] = {"items": [node("10.0.0.5", pods="10.42.0.0/24")]}
    found.documents[SERVICE] = {"spec": {"clusterIPs": ["10.43.0.1", "fd00::1"]}}
    found.documents[SLICE] = {"endpoints": [{"addresses": ["10.0.0.2"]}]}
    monkeypatch.setattr(connections, "of", lambda cluster: found)
    return found


def node(*addresses: str, pods: str) -> dict[str, Any]:
    kinds = ["InternalIP", *["ExternalIP"] * (len(addresses) - 1)]
    shown = [{"type": kind, "address": address} for kind, address in zip(kinds, addresses, strict=True)]
    hostname = {"type": "Hostname", "address": "node-1"}
    return {"status": {"addresses": [hostname, *shown]}, "spec": {"podCIDRs": [pods]}}


def own(cluster: Cluster, *networks: str) -> list[str]:
    """The findings of a check if these are the own networks of the cluster, and we do not run in that cluster."""
    cluster.kubeconfig = "of another cluster"
    cluster.save()
    Cluster.objects.filter(pk=cluster.pk).update(own_cidrs=list(networks))
    cluster.refresh_from_db()
    return checking.check(cluster)


def test_private_addresses_need_not_be_named(cluster: Cluster, api: ScriptedCluster) -> None:
    assert own(cluster) == []


def test_public_addresses_that_nobody_named_are_told_of(cluster: Cluster, api: ScriptedCluster) -> None:
    api.documents[NODES] = {"items": [node("10.0.0.5", "9.9.9.5", "2a01:4f8::5", pods="9.8.0.0/24")]}
    api.documents[SERVICE] = {"spec": {"clusterIPs": ["9.7.0.1"]}}
    api.documents[SLICE] = {"endpoints": [{"addresses": ["9.6.0.1"]}]}
    end = "Add the networks they are in to its own networks."
    assert own(cluster, "9.9.10.0/24") == [
        f"Pods can reach its nodes: 9.9.9.5, 2a01:4f8::5. {end}",
        f"Pods can reach its pods' networks: 9.8.0.0/24. {end}",
        f"Pods can reach its services: 9.7.0.1. {end}",
        f"Pods can reach its API server: 9.6.0.1. {end}",
    ]
    assert own(cluster, "9.9.9.0/24", "2a01:4f8::/32", "9.8.0.0/16", "9.7.0.0/16", "9.6.0.1/32") == []


def test_a_part_of_a_network_is_not_enough(cluster: Cluster, api: ScriptedCluster) -> None:
    api.documents[NODES] = {"items": [node("10.0.0.5", pods="9.8.0.0/16")]}
    assert "9.8.0.0/16" in own(cluster, "9.8.0.0/17")[0]


def test_of_many_nodes_some_are_named(cluster: Cluster, api: ScriptedCluster) -> None:
    api.documents[NODES] = {"items": [node("10.0.0.5", f"9.9.9.{number}", pods="10.42.0.0/24") for number in range(30)]}
    (finding,) = own(cluster)
    assert "9.9.9.9 and 20 more." in finding


def test_what_the_operator_opens_to_pods_must_not_hold_the_cluster(
    cluster: Cluster, api: ScriptedCluster, settings: Any
) -> None:
    settings.POD_EGRESS_CIDRS = ["10.0.0.0/24"]
    assert own(cluster) == [
        "POD_EGRESS_CIDRS lets pods reach its nodes: 10.0.0.5. Give smaller networks.",
        "POD_EGRESS_CIDRS lets pods reach its API server: 10.0.0.2. Give smaller networks.",
    ]


def test_what_we_may_not_ask_for_is_told_of_as_a_missing_right(cluster: Cluster, api: ScriptedCluster) -> None:
    api.forbidden = {("get", "endpointslices")}
    assert own(cluster) == ["Our account may not get endpointslices.discovery.k8s.io kubernetes."]


def test_pods_that_are_there_get_todays_policy(cluster: Cluster, api: ScriptedCluster) -> None:
    Pod.objects.create(namespace="agent-a-1", agent_id="a", cluster=cluster)
    assert own(cluster, "9.9.9.0/24") == []
    (policy,) = [one for one in api.applied if one["metadata"].get("namespace") == "agent-a-1"]
    blocks = [one["ipBlock"] for rule in policy["spec"]["egress"] for one in rule["to"] if "ipBlock" in one]
    assert ["9.9.9.0/24" in block["except"] for block in blocks] == [True, False]
    assert {"168.63.129.16/32"} <= set(blocks[0]["except"])


def test_where_agentpods_itself_runs_its_setting_holds_for_it_and_for_agents_pods(
    cluster: Cluster, api: ScriptedCluster, settings: Any
) -> None:
    api.documents[NODES] = {"items": [node("10.0.0.5", "9.9.9.5", pods="10.42.0.0/24")]}
    agentpods = (
        "Agentpods itself can reach its nodes: 9.9.9.5. Add the networks they are in to OWN_NETWORKS (of the chart:"
        " networkPolicy.ownNetworks)."
    )
    pods = "Pods can reach its nodes: 9.9.9.5. Add the networks they are in to its own networks."
    assert checking.check(cluster) == [pods, agentpods]
    cluster.own_cidrs = ["9.9.9.0/24"]
    assert checking.check(cluster) == [agentpods]
    cluster.own_cidrs = []
    settings.OWN_NETWORKS = [ip_network("9.9.9.0/24")]
    assert checking.check(cluster) == []
    assert connections.place(cluster).own_cidrs == ("9.9.9.0/24",)
