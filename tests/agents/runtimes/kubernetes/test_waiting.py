"""The observer watches a pod that comes up. The driver asks the API server only when there is a reason."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents.clusters.models import Pod
from agents.runtimes.base import PodSpec
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from tests.agents.runtimes.conftest import NAMESPACE
from tests.agents.runtimes.kubernetes.test_driver import comes_up, public_spec
from tests.doubles.kube_api import KubeApi

pytestmark = pytest.mark.unmeasured


def test_what_waits_for_its_pod_costs_no_call(runtime: KubernetesRuntime, cluster: KubeApi) -> None:
    """Otherwise each agent that comes up would cost two calls in each second on a busy cluster."""
    runtime.deploy(public_spec())
    before = cluster.requests
    for _ in range(5):
        runtime.deploy(public_spec())
    assert cluster.requests == before


def of_another_tier() -> PodSpec:
    limits = dataclasses.replace(public_spec().limits, memory_bytes=2**30)
    return dataclasses.replace(public_spec(), limits=limits)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("meanwhile", "spec"),
    [
        ({}, of_another_tier()),
        ({"deployed_at": timezone.now() - timedelta(seconds=31)}, public_spec()),
        ({"phase": "stopped"}, public_spec()),
        ({"cause": "CONFIG"}, public_spec()),
        ({"seen": {"Namespace": "another"}}, public_spec()),
    ],
)
def test_it_is_looked_at_again_where_something_says_so(
    runtime: KubernetesRuntime, cluster: KubeApi, meanwhile: dict[str, Any], spec: PodSpec
) -> None:
    runtime.deploy(public_spec())
    Pod.objects.update(**meanwhile)
    before = cluster.requests
    runtime.deploy(spec)
    assert cluster.requests >= before + 2


def test_a_pod_that_was_stopped_is_started_at_once(runtime: KubernetesRuntime, cluster: KubeApi) -> None:
    runtime.deploy(public_spec())
    comes_up(cluster)
    runtime.stop(NAMESPACE)
    runtime.deploy(public_spec())
    found = cluster.get("Deployment", "pod", NAMESPACE)
    assert found
    assert found["spec"]["replicas"] == 1
