"""Memory and disk of pods, read from the nodes of a cluster double."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from kubernetes.config import incluster_config

from agents.clusters import connections, usage
from agents.clusters.api.client import ClusterFailure
from agents.clusters.api.names import MIB
from agents.clusters.models import Cluster, Pod
from agents.runtimes.base import Usage
from tests.agents.clusters.observing import cluster_of, metadata
from tests.deploy import chart
from tests.doubles.certificates import Certificates
from tests.doubles.kube_api import KubeApi

LIMIT = 256 * MIB  # the memory limit of an engine's container
BRIDGE = 40 * MIB  # the memory of the bridge in that container
UNKNOWN = Usage(memory_bytes=None, disk_bytes=None)
THROUGH_API = [{"apiGroups": [""], "resources": ["nodes", "nodes/proxy"], "verbs": ["get", "list"]}]


@pytest.fixture(autouse=True)
def fresh_nodes() -> Iterator[None]:
    yield
    usage._known_nodes.clear()


@pytest.fixture
def api(db: None, tmp_path: Path) -> Iterator[KubeApi]:
    """Two nodes. The account `drive` has the rights that the chart gives it."""
    with KubeApi(tmp_path / "cluster", nodes=2) as found:
        found.allow("drive", chart.rules("drive"))
        yield found


@pytest.fixture
def cluster(api: KubeApi) -> Cluster:
    return cluster_of(api.kubeconfig("drive"))


def make_pod(api: KubeApi, cluster: Cluster, namespace: str, *, node: str = "node", **used: int) -> Pod:
    """Make a running pod and its row."""
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    limits = {"limits": {"memory": str(LIMIT)}}
    containers = [
        {"name": name, "image": "registry.example/one:1", "resources": limits} for name in ("engine", "gateway")
    ]
    api.use(namespace, **used)
    api.put("Namespace", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.put("PersistentVolumeClaim", {"metadata": metadata("data", namespace=namespace), "spec": claim})
    spec = {"nodeName": node, "containers": containers, "volumes": [volume]}
    status = {"phase": "Pending"}
    api.put("Pod", {"metadata": metadata("pod-1", namespace=namespace, uid=namespace), "spec": spec, "status": status})
    api.wait(lambda: (api.get("Pod", "pod-1", namespace) or {})["status"]["phase"] == "Running")
    return Pod.objects.create(
        namespace=namespace, agent_id="agt_1", cluster=cluster, phase="ready", bridge_bytes=BRIDGE
    )


def test_a_pod_takes_what_its_engines_container_takes_without_the_bridge_and_its_volume(
    api: KubeApi, cluster: Cluster
) -> None:
    make_pod(api, cluster, "pod-a-1", memory_bytes=LIMIT, disk_bytes=7 * MIB)
    make_pod(api, cluster, "pod-b-1", node="node-1", memory_bytes=43 * MIB, disk_bytes=0)
    assert usage.measure(cluster) == {
        "pod-a-1": Usage(memory_bytes=LIMIT - BRIDGE, disk_bytes=7 * MIB),
        "pod-b-1": Usage(memory_bytes=3 * MIB, disk_bytes=0),
    }
    assert dict(Pod.objects.values_list("namespace", "disk_bytes")) == {"pod-a-1": 7 * MIB, "pod-b-1": 0}


def test_a_pod_without_a_row_does_not_count_and_one_that_is_not_seen_is_unknown(api: KubeApi, cluster: Cluster) -> None:
    make_pod(api, cluster, "pod-a-1", memory_bytes=MIB, disk_bytes=MIB)
    Pod.objects.filter(pk="pod-a-1").update(namespace="pod-b-1", disk_bytes=3)
    assert usage.measure(cluster) == {"pod-b-1": UNKNOWN}
    assert Pod.objects.get().disk_bytes == 3  # the last measured value


def test_nobody_is_asked_about_no_pods(api: KubeApi, cluster: Cluster) -> None:
    before = api.requests
    assert usage.measure(cluster) == {}
    assert api.requests == before


def test_a_node_that_fails_takes_nobody_elses_numbers_away(
    api: KubeApi, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    make_pod(api, cluster, "pod-a-1", memory_bytes=MIB, disk_bytes=MIB)
    make_pod(api, cluster, "pod-b-1", node="node-1", memory_bytes=43 * MIB, disk_bytes=2)
    api.fail("GET", "/kubelet/node/", status=500)
    assert usage.measure(cluster) == {"pod-a-1": UNKNOWN, "pod-b-1": Usage(memory_bytes=3 * MIB, disk_bytes=2)}
    assert [record.node for record in caplog.records if hasattr(record, "node")] == ["node"]


def test_nodes_are_listed_once_a_minute(api: KubeApi, cluster: Cluster) -> None:
    make_pod(api, cluster, "pod-a-1", memory_bytes=MIB, disk_bytes=MIB)
    before = api.requests
    for _ in range(3):
        usage.measure(cluster)
    assert api.requests == before + 1


def test_a_cluster_whose_nodes_are_not_told_is_not_measured(api: KubeApi, cluster: Cluster) -> None:
    make_pod(api, cluster, "pod-a-1")
    api.stop()
    with pytest.raises(ClusterFailure):
        usage.measure(cluster)


def test_by_way_of_the_api_server_where_the_operator_says_so(api: KubeApi, cluster: Cluster) -> None:
    make_pod(api, cluster, "pod-a-1", memory_bytes=43 * MIB, disk_bytes=2)
    cluster.stats_through_api = True
    assert usage.measure(cluster) == {"pod-a-1": UNKNOWN}  # the way through the API server needs more rights
    api.allow("drive", THROUGH_API)
    assert usage.measure(cluster) == {"pod-a-1": Usage(memory_bytes=3 * MIB, disk_bytes=2)}


def test_who_is_known_by_a_certificate_shows_it_to_kubelets_too(api: KubeApi) -> None:
    cluster = cluster_of(api.kubeconfig_with_certificate("drive"))
    make_pod(api, cluster, "pod-a-1", memory_bytes=43 * MIB, disk_bytes=2)
    assert usage.measure(cluster) == {"pod-a-1": Usage(memory_bytes=3 * MIB, disk_bytes=2)}
    api.allow("drive", [])
    assert usage.measure(cluster) == {"pod-a-1": UNKNOWN}


@pytest.fixture
def inside(api: KubeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The row of the cluster that this process runs in, with the files and variables that a pod has there."""
    config = yaml.safe_load(api.kubeconfig("drive"))
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text(config["users"][0]["user"]["token"], encoding="utf-8")
    authority.write_bytes(b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]))
    host = urlsplit(config["clusters"][0]["cluster"]["server"])
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(host.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(host.port))
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
    return cluster_of("")


def test_a_service_account_shows_its_token_to_kubelets_too(api: KubeApi, inside: Cluster) -> None:
    make_pod(api, inside, "pod-a-1", memory_bytes=43 * MIB, disk_bytes=2)
    assert usage.measure(inside) == {"pod-a-1": Usage(memory_bytes=3 * MIB, disk_bytes=2)}


class AskedKubelet:
    """A connection whose token only a kubelet may get."""

    def __init__(self, authority: Path | None, *, certificate: tuple[str, str] | None = None) -> None:
        self._authority, self._certificate = authority, certificate

    def bearer(self) -> str:
        return "token"

    def certificate(self) -> tuple[str, str] | None:
        return self._certificate

    def authority(self) -> str | None:
        return str(self._authority) if self._authority else None


def test_a_kubelet_that_cannot_prove_itself_is_shown_nothing_of_ours(api: KubeApi, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    node = usage.nodes_of(1, connections.of(cluster_of(api.kubeconfig())))[0]
    for authority in (Certificates(tmp_path / "other").authority, None):
        with pytest.raises(usage.Unmeasured, match="serverTLSBootstrap"):
            usage._kubelet(AskedKubelet(authority), node)  # type: ignore[arg-type]  # it has the methods that are used


@pytest.mark.parametrize(
    ("node", "certificate", "why"),
    [
        (usage.KubernetesNode("one", None), None, "no address"),
        (usage.KubernetesNode("one", "https://127.0.0.1:1"), None, "does not answer"),
        (
            usage.KubernetesNode("one", "https://127.0.0.1:1"),
            ("/gone/certificate.pem", "/gone/key.pem"),
            "does not answer",
        ),
    ],
)
def test_a_node_that_cannot_be_asked_says_why(
    node: usage.KubernetesNode, certificate: tuple[str, str] | None, why: str
) -> None:
    with pytest.raises(usage.Unmeasured, match=why):
        usage._kubelet(AskedKubelet(None, certificate=certificate), node)  # type: ignore[arg-type]


def test_addresses_of_the_newer_kind_are_written_as_urls_want_them() -> None:
    status = {
        "addresses": [{"type": "Hostname", "address": "one"}, {"type": "InternalIP", "address": "fd00::1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    }
    assert usage._node({"metadata": {"name": "one"}, "status": status}) == usage.KubernetesNode(
        "one", "https://[fd00::1]:10250"
    )


def test_of_two_pods_in_a_namespace_the_newer_one_counts_and_what_is_not_said_is_unknown() -> None:
    def told(start: str, **more: Any) -> dict[str, Any]:
        return {"podRef": {"name": start, "namespace": "pod-a-1"}, "startTime": start, **more}

    engine = {"name": "engine", "memory": {"workingSetBytes": LIMIT, "availableBytes": 0}}
    body = {"pods": [told("2026-11-22T12:00:00Z", containers=[engine]), told("2026-11-22T11:00:00Z")]}
    pods = usage._decoder.decode(json.dumps(body).encode()).pods
    newest, oldest = usage._by_namespace(pods)["pod-a-1"], usage._by_namespace(pods[1:])["pod-a-1"]
    assert usage._usage(newest, bridge_bytes=BRIDGE) == Usage(memory_bytes=LIMIT - BRIDGE, disk_bytes=None)
    assert usage._usage(oldest, bridge_bytes=BRIDGE) == UNKNOWN


@pytest.mark.parametrize(("bridge_bytes", "told"), [(BRIDGE, 32 * MIB), (80 * MIB, 0), (None, None)])
def test_memory_is_what_the_container_has_without_the_bridges_and_unknown_while_the_bridge_told_nothing(
    bridge_bytes: int | None, told: int | None
) -> None:
    """This is also true if the kubelet sees no limit and does not report `availableBytes`."""
    engine = {"name": "engine", "memory": {"workingSetBytes": 72 * MIB}}
    body = {"pods": [{"podRef": {"name": "one", "namespace": "pod-a-1"}, "containers": [engine]}]}
    (pod,) = usage._decoder.decode(json.dumps(body).encode()).pods
    assert usage._usage(pod, bridge_bytes=bridge_bytes).memory_bytes == told
