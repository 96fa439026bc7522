"""A cluster double on loopback whose pods become ready without programs, and the driver for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from agents.clusters.models import Cluster
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.deploy import chart
from tests.doubles.kube_api import KubeApi

DRIVE = chart.username("drive")


@pytest.fixture
def cluster(db: None, tmp_path: Path, settings: Settings) -> Iterator[KubeApi]:
    """The account `drive` has only the rights that the chart gives to workers."""
    settings.POD_IMAGE = "registry.example/agentpods:1"
    settings.ENGINE_IMAGES = {"pi": "registry.example/pi:1"}
    with KubeApi(tmp_path / "cluster") as found:
        found.install(chart.accounts())
        yield found


@pytest.fixture
def row(cluster: KubeApi) -> Cluster:
    """The row of this cluster."""
    return Cluster.objects.create(
        name="first", kubeconfig=cluster.kubeconfig(DRIVE), routing="gateway", gateway="infra/pods", capacity=10
    )


@pytest.fixture
def runtime(row: Cluster) -> KubernetesRuntime:
    return KubernetesRuntime(gone_seconds=5)
