"""A disk in a cluster is suddenly empty: the agent fails and says why. It does not matter who started the pod."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.clusters.api.client import Connection
from tests.agents.clusters import ground
from tests.agents.clusters.test_flow import ApiOwner
from tests.agents.pod.bridge.process import eventually
from tests.doubles.kube_api import KubeApi

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.unmeasured,
    pytest.mark.skipif(ground.is_real, reason="empties the disks of a cluster"),
]


@pytest.fixture
def api(tmp_path: Path, settings: Settings) -> Iterator[KubeApi]:
    settings.AGENT_RUNTIME, settings.LLM_KEY_CHECK = "kubernetes", False
    with ground.double(tmp_path, settings, run=True) as (found, _), ground.observing(), ground.reconciling():
        yield found


@pytest.fixture
def owner(client: APIClient, api: KubeApi) -> ApiOwner:
    """The owner of a running agent that has answered once."""
    made = ApiOwner(client)
    made.until("running")
    assert made.say("say hello") == "hello"
    return made


def disk(api: KubeApi) -> Path:
    (volume,) = api.objects("PersistentVolume")
    return api.directory_of(volume["metadata"]["name"])


def delete(api: KubeApi, path: str) -> None:
    """Delete an object as the cluster's administrator."""
    with closing(Connection("admin", api.kubeconfig(), calls=1)) as connection:
        connection.delete(path)


def is_told(owner: ApiOwner) -> None:
    owner.until("failed")
    found = owner.get("/explain")["explanation"]
    assert (found["cause"], found["next"]) == ("DATA_LOST", f"POST {owner.path}/rebuild")
    assert "the agent's disk is empty" in found["message"]


@pytest.mark.sampled
def test_a_pod_that_the_cluster_started_by_itself_finds_an_empty_disk(owner: ApiOwner, api: KubeApi) -> None:
    """There was no deployment since the agent came up, so only the document in the cluster says that there was data."""
    namespace = owner.row().namespace
    found = disk(api)
    (pod,) = api.objects("Pod", namespace)
    shutil.rmtree(found)
    found.mkdir()
    delete(api, f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}")
    is_told(owner)
    assert owner.row().generation == 1
    assert [one for one in found.rglob("*") if one.is_file()] == []


@pytest.mark.sampled
def test_a_namespace_that_somebody_removed_with_its_volume_is_not_quietly_built_anew(
    owner: ApiOwner, api: KubeApi
) -> None:
    (volume,) = api.objects("PersistentVolume")
    path = f"/api/v1/persistentvolumes/{volume['metadata']['name']}"
    with closing(Connection("admin", api.kubeconfig(), calls=1)) as connection:
        connection.merge(path, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
    delete(api, f"/api/v1/namespaces/{owner.row().namespace}")
    is_told(owner)
    assert owner.row().generation == 2
    owner.post("/rebuild")
    eventually(lambda: owner.row().generation == 3, what="the next generation")
    owner.until("running")
    assert owner.say("count") == "0"
