"""Copies of objects in the cluster double, seen by the official client."""

from __future__ import annotations

from pathlib import Path

from tests.doubles.kube.official_client import WITH_DATA, OfficialClient, claim, deployment, is_ready, secret
from tests.doubles.kube_api import KubeApi


def test_a_copy_of_a_namespace_has_all_its_objects_and_stays_as_it_is(tmp_path: Path) -> None:
    with KubeApi(tmp_path) as cluster:
        client = OfficialClient(cluster)
        client.namespace("one-1")
        client.apply(secret("one-1", key="value"))
        client.create(claim("one-1"))
        client.apply(deployment("one-1", **WITH_DATA))
        cluster.wait(lambda: is_ready(cluster, "one-1"))
        cluster.copy("one-1", [{"one-1": "one-2"}, {"one-1": "one-3"}])
        cluster.wait(lambda: is_ready(cluster, "one-3"))
        for kind in ("Secret", "PersistentVolumeClaim", "Deployment", "ReplicaSet", "Pod"):
            found = [cluster.objects(kind, namespace) for namespace in ("one-1", "one-2", "one-3")]
            assert [len(objects) for objects in found] == [1, 1, 1]
            assert len({objects[0]["metadata"]["uid"] for objects in found}) == 3
        claims = [one["spec"]["claimRef"]["namespace"] for one in cluster.objects("PersistentVolume")]
        assert sorted(claims) == ["one-1", "one-2", "one-3"]


def test_a_container_of_a_copy_restarts_like_any_other(tmp_path: Path) -> None:
    with KubeApi(tmp_path) as cluster:
        client = OfficialClient(cluster)
        client.namespace("one-1")
        client.apply(deployment("one-1"))
        cluster.wait(lambda: is_ready(cluster, "one-1"))
        cluster.copy("one-1", [{"one-1": "one-2"}])
        # The node starts the copy, which has an address of its own then.
        cluster.wait(lambda: len({pod["status"]["podIP"] for pod in cluster.objects("Pod")}) == 2)
        cluster.kill("one-2", "engine")
        (pod,) = cluster.objects("Pod", "one-2")
        assert [one["restartCount"] for one in pod["status"]["containerStatuses"]] == [1]
        (other,) = cluster.objects("Pod", "one-1")
        assert [one["restartCount"] for one in other["status"]["containerStatuses"]] == [0]
