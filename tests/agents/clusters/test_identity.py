"""Gateways in clusters prove their identity, and those that cannot are replaced. Tested through the API."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.clusters import connections
from agents.clusters.api import names
from agents.models import Cluster, Pod
from tests.agents.clusters import ground
from tests.agents.clusters.test_flow import ApiOwner
from tests.agents.pod.bridge.process import eventually
from tests.doubles.impostor import Impostor
from tests.doubles.kube_api import KubeApi

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.unmeasured,
    pytest.mark.skipif(ground.is_real, reason="kills containers and takes their ports"),
]


@pytest.fixture
def double(tmp_path: Path, settings: Settings) -> Iterator[tuple[KubeApi, Cluster]]:
    settings.AGENT_RUNTIME, settings.LLM_KEY_CHECK = "kubernetes", False
    with ground.double(tmp_path, settings, run=True) as found, ground.observing():
        yield found


@pytest.fixture
def owner(client: APIClient, double: tuple[KubeApi, Cluster]) -> ApiOwner:
    """The owner of a running agent that has answered once."""
    with ground.reconciling():
        made = ApiOwner(client)
        made.until("running")
    assert made.say("say hello") == "hello"
    return made


@pytest.mark.slow
def test_a_pod_of_a_release_without_certificates_is_replaced_and_keeps_its_conversations(
    owner: ApiOwner, double: tuple[KubeApi, Cluster]
) -> None:
    namespace = owner.row().namespace
    older = {"metadata": {"labels": {names.CERTIFICATE_LABEL: None}}}
    connections.of(double[1]).merge(
        f"/apis/apps/v1/namespaces/{namespace}/deployments/pod",
        {"metadata": {"annotations": {names.HASH_ANNOTATION: "older"}}, "spec": {"template": older}},
    )
    eventually(lambda: Pod.objects.get(pk=namespace).cause == "GATEWAY_OUTDATED", within=40, what="the older pod")
    assert owner.get("/explain")["explanation"]["cause"] == "GATEWAY_OUTDATED"
    assert not answers(owner, "say again")
    with ground.reconciling():
        eventually(lambda: is_well(namespace), within=60, what="the pod of this release")
    assert owner.say("count") == "1"
    agent = owner.row()
    assert (agent.status, agent.namespace, agent.recoveries) == ("running", namespace, 0)


def is_well(namespace: str) -> bool:
    pod = Pod.objects.get(pk=namespace)
    return pod.gateway_alive and pod.phase == "ready" and pod.cause is None


@pytest.mark.sampled
def test_an_engine_on_the_management_port_of_its_gateway_is_told_nothing(
    owner: ApiOwner, double: tuple[KubeApi, Cluster]
) -> None:
    agent = owner.row()
    address = str(Pod.objects.get(pk=agent.namespace).pod_ip)
    with in_place_of_the_gateway(double[0], agent.namespace, address) as impostor:
        asked = {"message": "between us alone", "sessionId": "s1"}
        answer = owner.api.post(f"{owner.path}/chat", asked, format="json")
        assert answer.status_code == 503
        assert "gateway" in answer.json()["message"]
        assert impostor.calls
        assert b"between us" not in impostor.told
        assert b"Bearer" not in impostor.told
    eventually(lambda: answers(owner, "say again"), within=60, what="the gateway")
    assert owner.say("count") == "2"


def answers(owner: ApiOwner, message: str) -> bool:
    asked = {"message": message, "sessionId": "s1"}
    return bool(owner.api.post(f"{owner.path}/chat", asked, format="json").status_code == 200)


@contextlib.contextmanager
def in_place_of_the_gateway(api: KubeApi, namespace: str, address: str) -> Iterator[Impostor]:
    """Kill the gateway until an impostor gets its port. After each end, a container waits longer before it starts."""
    for _ in range(20):
        api.kill(namespace, names.GATEWAY)
        until = time.monotonic() + 2
        while time.monotonic() < until:
            with contextlib.suppress(OSError), Impostor(names.MANAGEMENT_PORT, host=address) as impostor:
                yield impostor
                return
            time.sleep(0.01)
    raise AssertionError("the gateway is always quicker")
