"""The observer before a cluster's double: what happens there is in the rows of pods a moment later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.clusters.models import Cluster, Pod
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.agents.clusters.observing import NAMESPACE, Turns, cluster_of, observing
from tests.agents.runtimes.conftest import pod_spec
from tests.doubles.kube_api import KubeApi


@pytest.fixture
def api(db: None, tmp_path: Path, settings: object) -> Iterator[KubeApi]:
    settings.POD_IMAGE = "registry.example/agentpods:1"
    settings.ENGINE_IMAGES = {"pi": "registry.example/pi:1"}
    with KubeApi(tmp_path / "cluster") as found:
        yield found


@pytest.fixture
def row(api: KubeApi) -> Cluster:
    return cluster_of(api.kubeconfig())


@pytest.fixture
def turns(row: Cluster) -> Iterator[Turns]:
    with observing() as found:
        yield found


def test_a_pod_is_seen_to_come_up_to_stop_and_to_go(turns: Turns) -> None:
    runtime = KubernetesRuntime(gone_seconds=5)
    runtime.deploy(pod_spec())
    pod = turns.row(NAMESPACE, phase="ready")
    assert pod.gateway_alive
    runtime.stop(NAMESPACE)
    turns.row(NAMESPACE, phase="stopped")
