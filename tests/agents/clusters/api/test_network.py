"""A pod whose engine is walled in: the network policy lets nothing out at the ports that the wall leaves open."""

from __future__ import annotations

from typing import Any

import kubernetes_validate

from agents.clusters.api import names, network
from agents.clusters.api.place import ClusterSettings, Routes, Routing

INFRA = Routes(routing=Routing.NONE, router_namespace="envoy", router_ports=(443, 8082))


def place(routes: Routes = INFRA) -> ClusterSettings:
    return ClusterSettings(
        installation="test", pod_image="agentpods", engine_images={}, egress_cidrs=("10.1.0.0/16",), routes=routes
    )


def egress(*, is_limited: bool, routes: Routes = INFRA) -> list[dict[str, Any]]:
    policy = network.policy("pod-abc-1", "agt_abc", place(routes), is_limited=is_limited)
    kubernetes_validate.validate(policy, "1.31", strict=True)
    found: list[dict[str, Any]] = policy["spec"]["egress"]
    return found


def test_nothing_goes_out_at_the_ports_that_a_walled_engine_reaches() -> None:
    dns, internet, door = egress(is_limited=True)
    spans = [(one["port"], one["endPort"]) for one in internet["ports"] if one["protocol"] == "TCP"]
    open_ports = {port for first, last in spans for port in range(first, last + 1)}
    assert set(range(1, 65536)) - open_ports == {names.LLM_PORT, names.ENGINE_PORT, names.SIDE_PORT}
    assert len(spans) == len(internet["ports"])
    assert [port["port"] for port in door["ports"]] == [443]
    assert {port["port"] for port in dns["ports"]} == {53}


def test_the_networks_are_the_same_as_without_a_list() -> None:
    limited, usual = egress(is_limited=True), egress(is_limited=False)
    assert [one["to"] for one in limited] == [one["to"] for one in usual]
    assert "ports" not in usual[1]


def test_a_rule_that_has_no_port_left_is_no_rule_for_all_ports() -> None:
    routes = Routes(routing=Routing.NONE, router_namespace="envoy", router_ports=(8082, 8084))
    assert len(egress(is_limited=False, routes=routes)) == 3
    assert len(egress(is_limited=True, routes=routes)) == 2
