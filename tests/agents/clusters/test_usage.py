"""Memory and disk, read from the nodes of a cluster's double."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from agents.clusters import connections, usage
from agents.clusters.models import Cluster, Pod
from agents.runtimes.base import Usage
from agents.runtimes.kubernetes.client import ClusterFailure
from agents.runtimes.kubernetes.names import BRIDGE_BYTES, MIB
from tests.agents.clusters.observing import cluster_of, metadata
from tests.deploy import chart
from tests.doubles.certificates import Certificates
from tests.doubles.kube_api import KubeApi

UNKNOWN = Usage(memory_bytes=None, disk_bytes=None)
THROUGH_API = [{"apiGroups": [""], "resources": ["nodes", "nodes/proxy"], "verbs": ["get", "list"]}]


@pytest.fixture(autouse=True)
def fresh_nodes() -> Iterator[None]:
    yield
    usage._known_nodes.clear()


@pytest.fixture
def api(db: None, tmp_path: Path) -> Iterator[KubeApi]:
    """Two nodes; the account `observe` has the rights that the chart gives it."""
    with KubeApi(tmp_path / "cluster", nodes=2) as found:
        found.allow("observe", chart.rules("observe"))
        yield found


@pytest.fixture
def cluster(api: KubeApi) -> Cluster:
    return cluster_of(api.kubeconfig("observe"))


def make_pod(api: KubeApi, cluster: Cluster, namespace: str, *, node: str = "node", **used: int) -> Pod:
    """A pod that runs, and its row."""
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    containers = [{"name": name, "image": "registry.example/one:1"} for name in ("engine", "gateway")]
    api.use(namespace, **used)
    api.put("Namespace", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.put("PersistentVolumeClaim", {"metadata": metadata("data", namespace=namespace), "spec": claim})
    spec = {"nodeName": node, "containers": containers, "volumes": [volume]}
    api.put("Pod", {"metadata": metadata("pod-1", namespace=namespace), "spec": spec})
    api.wait(lambda: api.get("Pod", "pod-1", namespace)["status"].get("phase") == "Running")
    return Pod.objects.create(namespace=namespace, agent_id="agt_1", cluster=cluster, phase="ready")


def test_a_pod_takes_what_its_engine_takes_and_its_volume(api: KubeApi, cluster: Cluster) -> None:
    make_pod(api, cluster, "pod-a-1", memory_bytes=BRIDGE_BYTES + 5 * MIB, disk_bytes=7 * MIB)
    make_pod(api, cluster, "pod-b-1", node="node-1", memory_bytes=MIB, disk_bytes=0)
    assert usage.measure(cluster) == {
        "pod-a-1": Usage(memory_bytes=5 * MIB, disk_bytes=7 * MIB),
        "pod-b-1": Usage(memory_bytes=0, disk_bytes=0),
    }
    assert dict(Pod.objects.values_list("namespace", "disk_bytes")) == {"pod-a-1": 7 * MIB, "pod-b-1": 0}
