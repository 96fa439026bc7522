"""The objects of a pod in a cluster, compared with literals and with the published schemas of two minor versions."""

from __future__ import annotations

import base64
import dataclasses
import json
from decimal import Decimal
from typing import Any

import kubernetes_validate
import pytest

from agents.clusters.api import names, network
from agents.clusters.api.place import ClusterSettings, Routes, Routing
from agents.pod.start import BridgeStart, GatewayStart
from agents.runtimes.base import PodSpec, RuntimeFailure
from agents.runtimes.kubernetes import documents, manifests, workload
from config import public_networks
from tests.agents.runtimes.conftest import AGENT, MANAGEMENT_TOKEN, NAMESPACE, REAL_KEY, pod_spec

OLDEST, NEWEST = "1.31", "1.37"
BY_GATEWAY = Routes(
    routing=Routing.GATEWAY,
    gateway="infra/pods/wildcard",
    router_namespace="envoy",
    control_namespace="agentpods",
    control_cidrs=("192.0.2.0/24",),
    certificate_issuer="letsencrypt",
)
BY_INGRESS = dataclasses.replace(BY_GATEWAY, routing=Routing.INGRESS, ingress_class="traefik")
LABELS = {
    "app.kubernetes.io/managed-by": "agentpods",
    "agentpods.dev/installation": "first",
    "agentpods.dev/agent": AGENT,
}


def place(**changes: Any) -> ClusterSettings:
    usual: dict[str, Any] = {
        "installation": "first",
        "pod_image": "registry.example/agentpods:1",
        "engine_images": {"pi": "registry.example/pi:1"},
        "routes": BY_GATEWAY,
    }
    return ClusterSettings(**{**usual, **changes})


def public_spec(**changes: Any) -> PodSpec:
    return dataclasses.replace(pod_spec(), public_url="https://abc.pods.example", **changes)


def everything(spec: PodSpec, where: ClusterSettings) -> list[dict[str, Any]]:
    return [
        manifests.namespace(spec, where),
        *manifests.before_workload(spec, where),
        manifests.limits(spec, where, secrets={"engine": "uid-1", "gateway": "uid-2"}),
        manifests.claim(spec, where),
        manifests.deployment(spec, where),
        *network.routes(spec, where),
        *network.domain_objects(spec, where),
    ]


def only(kind: str, found: list[dict[str, Any]], name: str | None = None) -> dict[str, Any]:
    (one,) = [one for one in found if one["kind"] == kind and name in (None, one["metadata"]["name"])]
    return one


def pod_of(where: ClusterSettings | None = None, **changes: Any) -> dict[str, Any]:
    template: dict[str, Any] = manifests.deployment(public_spec(**changes), where or place())["spec"]["template"]
    return template


def container(name: str) -> dict[str, Any]:
    (one,) = [one for one in pod_of()["spec"]["containers"] if one["name"] == name]
    return dict(one)


@pytest.mark.parametrize("minor", [OLDEST, NEWEST])
@pytest.mark.parametrize("routes", [BY_GATEWAY, BY_INGRESS], ids=["gateway", "ingress"])
def test_all_objects_are_what_the_published_schemas_say(minor: str, routes: Routes) -> None:
    where = place(
        routes=routes,
        pull_secret='{"auths": {}}',
        runtime_class="gvisor",
        storage_class="fast",
        node_selector={"pool": "pods"},
        tolerations=({"key": "pods", "operator": "Exists", "effect": "NoSchedule"},),
        egress_cidrs=("10.1.0.0/16",),
    )
    found = everything(public_spec(domain="agent.example.com"), where)
    own = [
        one for one in found if one["apiVersion"].split("/")[0] not in {"gateway.networking.k8s.io", "cert-manager.io"}
    ]
    assert len(own) >= 9
    for one in own:
        kubernetes_validate.validate(one, minor, strict=True)


@pytest.mark.parametrize(("tier", "runtime_class"), [("tiny", "gvisor"), ("small", "kata"), ("large", None)])
def test_a_plan_may_have_a_runtime_class_of_its_own(tier: str, runtime_class: str | None) -> None:
    where = place(runtime_class="kata", tier_runtime_classes={"tiny": "gvisor", "large": ""})
    assert pod_of(where, tier=tier)["spec"].get("runtimeClassName") == runtime_class


def test_every_object_says_whose_it_is_and_where_it_lives() -> None:
    found = everything(public_spec(domain="agent.example.com"), place())
    for one in found:
        assert LABELS.items() <= one["metadata"]["labels"].items()
    assert {one["metadata"].get("namespace", NAMESPACE) for one in found} == {NAMESPACE}


def test_the_namespace_refuses_what_is_not_restricted() -> None:
    labels = manifests.namespace(public_spec(), place())["metadata"]["labels"]
    assert {name: value for name, value in labels.items() if "pod-security" in name} == {
        "pod-security.kubernetes.io/enforce": "restricted",
        "pod-security.kubernetes.io/audit": "restricted",
        "pod-security.kubernetes.io/warn": "restricted",
    }


def test_two_pods_may_be_there_at_once_and_no_more() -> None:
    spec, quota = pod_of()["spec"], only("ResourceQuota", everything(public_spec(), place()), "pod")
    pod = sum(int(one["resources"]["limits"]["cpu"].removesuffix("m")) for one in spec["containers"])
    assert quota["spec"]["hard"]["limits.cpu"] == f"{2 * pod}m"


def test_the_gateway_brings_the_bridge_and_only_it_may_write_there() -> None:
    """A node fetches images and starts containers in this order, so the engine never waits for the gateway's image."""
    first, second = pod_of()["spec"]["containers"]
    assert (first["name"], second["name"]) == ("gateway", "engine")
    (brought,) = (one for one in first["volumeMounts"] if one["name"] == "bridge")
    (used,) = (one for one in second["volumeMounts"] if one["name"] == "bridge")
    assert not brought.get("readOnly")
    assert used["readOnly"]


def test_quota_and_limits_come_before_the_workload() -> None:
    kinds = [one["kind"] for one in everything(public_spec(), place())]
    assert kinds[:2] == ["Namespace", "ResourceQuota"]
    for kind in ("LimitRange", "NetworkPolicy"):
        assert kinds.index(kind) < kinds.index("Deployment")


def test_the_engines_secret_holds_neither_key_nor_management_token() -> None:
    found = everything(public_spec(), place())
    read = {name: base64.b64decode(only("Secret", found, name)["data"]["start.json"]) for name in ("engine", "gateway")}
    for secret in (REAL_KEY, MANAGEMENT_TOKEN, "ticket-key-of-this-test"):
        assert secret.encode() not in read["engine"]
        assert secret.encode() in read["gateway"]
    bridge, gateway = BridgeStart.load(read["engine"]), GatewayStart.load(read["gateway"])
    assert (bridge.token, bridge.llm_token, bridge.engine_password) == (
        gateway.bridge_token,
        gateway.llm_token,
        gateway.engine_password,
    )
    assert len({bridge.token, bridge.llm_token, bridge.engine_password}) == 3


def test_each_secret_is_mounted_into_its_own_container_alone() -> None:
    volumes = {one["name"]: one["secret"]["secretName"] for one in pod_of()["spec"]["volumes"] if "secret" in one}
    seen = {
        one["name"]: {volumes[mount["name"]] for mount in one["volumeMounts"] if mount["name"] in volumes}
        for one in pod_of()["spec"]["containers"]
    }
    assert seen == {"engine": {"engine"}, "gateway": {"gateway"}}


def test_no_secret_is_in_the_workload_itself() -> None:
    text = json.dumps(manifests.deployment(public_spec(), place(pull_secret='{"auths": {"x": "hidden"}}')))
    for secret in (REAL_KEY, MANAGEMENT_TOKEN, "hidden"):
        assert secret not in text


def test_every_container_is_restricted() -> None:
    spec = pod_of()["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    for one in spec["containers"]:
        security = one["securityContext"]
        assert security.pop("runAsUser") >= 10000
        assert security == {
            "runAsGroup": one["securityContext"]["runAsGroup"],
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert set(one["resources"]["limits"]) == {"memory", "cpu", "ephemeral-storage"}


def test_engine_and_gateway_are_different_users() -> None:
    assert container("engine")["securityContext"]["runAsUser"] != container("gateway")["securityContext"]["runAsUser"]


def test_the_engines_memory_is_the_tiers_and_the_bridges() -> None:
    assert container("engine")["resources"]["limits"]["memory"] == str((512 + 64) * 2**20)


def test_the_engines_processor_is_the_tiers_and_the_bridges_of_which_its_node_promises_a_fifth_of_the_tiers() -> None:
    resources = container("engine")["resources"]
    assert (resources["limits"]["cpu"], resources["requests"]["cpu"]) == ("500m", "50m")


def test_a_backup_may_take_memory_beside_the_engines_that_no_node_keeps_for_it() -> None:
    spec = workload.pod(public_spec(), place(backup_port=8300))
    gateway, engine = (one["resources"] for one in spec["containers"])
    assert engine["requests"]["memory"] == str((512 + 64) * 2**20)
    assert engine["limits"]["memory"] == str((512 + 64 + 128) * 2**20)
    quota = only("ResourceQuota", everything(public_spec(), place(backup_port=8300)), "pod")
    both = int(engine["limits"]["memory"]) + int(gateway["limits"]["memory"])
    assert quota["spec"]["hard"]["limits.memory"] == str(2 * both)


def test_one_pod_at_a_time_has_the_volume() -> None:
    spec = manifests.deployment(public_spec(), place())["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    claim = manifests.claim(public_spec(), place())["spec"]
    assert claim == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": str(2 * 2**30)}}}


def test_a_volume_that_was_left_behind_is_claimed_as_it_is() -> None:
    volume = {
        "metadata": {"name": "pv-1"},
        "spec": {"storageClassName": "slow", "capacity": {"storage": "1Gi"}},
    }
    claim = manifests.claim_of(volume, public_spec(), place(storage_class="fast"))["spec"]
    assert claim == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "slow",
        "volumeName": "pv-1",
    }


def test_an_engine_without_an_image_is_refused_for_good() -> None:
    with pytest.raises(RuntimeFailure, match="names no image for pi") as refused:
        manifests.deployment(public_spec(), place(engine_images={}))
    assert refused.value.permanent


def test_probes_ask_the_bridge_for_the_engine_and_the_gateway_for_itself() -> None:
    asked = {
        name: {kind: container(name)[f"{kind}Probe"]["httpGet"] for kind in ("liveness", "readiness")}
        for name in ("engine", "gateway")
    }
    alive, own = {"path": "/healthz", "port": 8083}, {"path": "/healthz", "port": 8080}
    assert asked == {
        "engine": {"liveness": alive, "readiness": {"path": "/readyz", "port": 8083}},
        "gateway": {"liveness": own, "readiness": own},
    }


def test_a_bridge_and_a_gateway_have_a_minute_to_start_and_are_seen_a_second_after() -> None:
    """A startup probe would delay the readiness probe by up to two seconds."""
    for name in ("engine", "gateway"):
        one = container(name)
        assert "startupProbe" not in one
        assert one["livenessProbe"]["initialDelaySeconds"] == 60
        assert one["readinessProbe"]["periodSeconds"] == 1


def test_nothing_comes_in_but_visitors_and_the_control_plane() -> None:
    policy = network.policy(NAMESPACE, AGENT, place())["spec"]
    assert (policy["podSelector"], policy["policyTypes"]) == ({}, ["Ingress", "Egress"])
    visitors = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "envoy"}}}
    control = [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "agentpods"}}},
        {"ipBlock": {"cidr": "192.0.2.0/24"}},
    ]
    assert policy["ingress"] == [
        {"from": [visitors, *control], "ports": [{"protocol": "TCP", "port": 8080}]},
        {"from": control, "ports": [{"protocol": "TCP", "port": 8081}]},
    ]


def blocks(**changes: Any) -> dict[str, list[str]]:
    """The networks that a pod may reach, each with its exceptions."""
    dns, rest = network.policy(NAMESPACE, AGENT, place(**changes))["spec"]["egress"]
    assert {(port["protocol"], port["port"]) for port in dns["ports"]} == {("UDP", 53), ("TCP", 53)}
    return {one["ipBlock"]["cidr"]: one["ipBlock"].get("except", []) for one in rest["to"]}


def test_names_are_asked_of_whom_the_operator_says() -> None:
    peers = ({"ipBlock": {"cidr": "169.254.20.10/32"}},)
    dns, *_ = network.policy(NAMESPACE, AGENT, place(dns_peers=peers, dns_port=5353))["spec"]["egress"]
    assert dns == {"to": list(peers), "ports": [{"protocol": protocol, "port": 5353} for protocol in ("UDP", "TCP")]}


def test_pods_have_the_priority_and_the_annotations_of_their_cluster() -> None:
    annotations = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    given = place(priority_class="agents", pod_annotations=annotations)
    template = manifests.deployment(public_spec(), given)["spec"]["template"]
    assert (template["spec"]["priorityClassName"], template["metadata"]["annotations"]) == ("agents", annotations)
    usual = manifests.deployment(public_spec(), place())["spec"]["template"]
    assert "priorityClassName" not in usual["spec"]
    assert "annotations" not in usual["metadata"]


def test_nothing_goes_out_but_to_names_the_internet_and_what_the_operator_gives() -> None:
    assert blocks(egress_cidrs=("10.1.0.0/16",)) == {**public_networks.internet(), "10.1.0.0/16": []}


def test_the_clusters_own_public_networks_are_closed_too() -> None:
    usual, found = (
        public_networks.internet(),
        blocks(own_cidrs=("9.9.0.0/16", "2a01:4f8::/32", "10.0.0.0/16", "fd00::/8")),
    )
    assert set(found["0.0.0.0/0"]) - set(usual["0.0.0.0/0"]) == {"9.9.0.0/16"}
    assert set(found["2000::/3"]) - set(usual["2000::/3"]) == {"2a01:4f8::/32"}


def test_agents_reach_the_pods_that_bring_visitors_where_visitors_come() -> None:
    """Often the cluster's public address is translated to these pods' private one before the policy is applied."""
    known = dataclasses.replace(place().routes, router_ports=(443, 10443))
    *_, door = network.policy(NAMESPACE, AGENT, place(routes=known))["spec"]["egress"]
    assert door == {
        "to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "envoy"}}}],
        "ports": [{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 10443}],
    }
    unknown = dataclasses.replace(known, router_namespace="")
    assert len(network.policy(NAMESPACE, AGENT, place(routes=unknown))["spec"]["egress"]) == 2


def test_a_slug_is_a_route_on_the_shared_listener() -> None:
    route = only("HTTPRoute", network.routes(public_spec(), place()))["spec"]
    assert route == {
        "parentRefs": [{"namespace": "infra", "name": "pods", "sectionName": "wildcard"}],
        "hostnames": ["abc.pods.example"],
        "rules": [{"backendRefs": [{"name": "pod", "port": 8080}]}],
    }


def test_a_customers_hostname_has_a_certificate_and_a_listener_of_its_own() -> None:
    found = network.domain_objects(public_spec(domain="agent.example.com"), place())
    assert [one["kind"] for one in found] == ["Certificate", "ListenerSet", "HTTPRoute"]
    certificate, listeners, route = found
    assert certificate["spec"] == {
        "secretName": "domain",
        "dnsNames": ["agent.example.com"],
        "issuerRef": {"kind": "ClusterIssuer", "name": "letsencrypt"},
    }
    (listener,) = listeners["spec"]["listeners"]
    assert (listener["hostname"], listener["protocol"]) == ("agent.example.com", "HTTPS")
    assert listener["tls"]["certificateRefs"] == [{"name": "domain"}]
    assert route["spec"]["parentRefs"] == [
        {"kind": "ListenerSet", "group": "gateway.networking.k8s.io", "name": "domain"}
    ]


def test_by_ingress_a_slug_takes_the_controllers_certificate_and_a_customers_hostname_its_own() -> None:
    where = place(routes=BY_INGRESS)
    spec = public_spec(domain="agent.example.com")
    slug = only("Ingress", network.routes(spec, where))["spec"]
    assert (slug["ingressClassName"], slug["tls"]) == ("traefik", [{"hosts": ["abc.pods.example"]}])
    own = only("Ingress", network.domain_objects(spec, where))["spec"]
    assert own["tls"] == [{"hosts": ["agent.example.com"], "secretName": "domain"}]


@pytest.mark.parametrize("routes", [BY_GATEWAY, BY_INGRESS], ids=["gateway", "ingress"])
def test_without_an_issuer_of_certificates_a_customers_hostname_has_no_objects(routes: Routes) -> None:
    where = place(routes=dataclasses.replace(routes, certificate_issuer=""))
    spec = public_spec(domain="agent.example.com")
    assert network.domain_objects(spec, where) == []
    assert len(network.routes(spec, where)) == 1


def test_without_a_way_in_there_are_no_routes() -> None:
    where = place(routes=Routes())
    spec = public_spec(domain="agent.example.com")
    assert network.routes(spec, where) == network.domain_objects(spec, where) == []


def test_a_revision_changes_the_documents_and_not_the_workload() -> None:
    one, two = public_spec(), dataclasses.replace(public_spec(), config=pod_spec(revision=2).config)
    assert manifests.deployment(one, place()) == manifests.deployment(two, place())
    assert manifests.secrets(one, place()) != manifests.secrets(two, place())


def test_that_data_is_expected_is_said_to_the_bridge_alone_and_restarts_nothing() -> None:
    one, two = public_spec(), dataclasses.replace(public_spec(), data_expected=True)
    assert manifests.deployment(one, place()) == manifests.deployment(two, place())
    assert [documents.bridge(spec).count(b'"data_expected": true') for spec in (one, two)] == [0, 1]
    assert documents.gateway(one) == documents.gateway(two)


def test_another_tier_is_another_workload() -> None:
    spec = public_spec()
    larger = dataclasses.replace(spec, limits=dataclasses.replace(spec.limits, cpu=Decimal(1)))
    hashes = [
        manifests.deployment(one, place())["metadata"]["annotations"][names.HASH_ANNOTATION] for one in (spec, larger)
    ]
    assert hashes[0] != hashes[1]
