"""The double's pods, volumes and nodes live and fail like real ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes.client.exceptions import ApiException

from tests.doubles.kube.official_client import (
    WITH_DATA,
    OfficialClient,
    claim,
    deployment,
    is_ready,
    refusal,
    secret,
    watching,
)
from tests.doubles.kube_api import HELD, KubeApi

pytestmark = pytest.mark.unmeasured

SERVER = """
import http.server, json, signal, sys
start = json.load(open(sys.argv[1]))
open(start["data_dir"] + "/boots", "a").write("x")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
http.server.HTTPServer((start["host"], start["port"]), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KubeApi]:
    with KubeApi(tmp_path / "cluster") as cluster:
        yield cluster


@pytest.fixture
def driver(cluster: KubeApi) -> OfficialClient:
    return OfficialClient(cluster)


def test_a_deployment_is_ready_and_then_nothing_more_is_written(cluster: KubeApi, driver: OfficialClient) -> None:
    driver.namespace()
    driver.create(claim())
    driver.apply(deployment(**WITH_DATA))
    cluster.wait(lambda: is_ready(cluster))
    time.sleep(0.1)
    version = cluster.version
    time.sleep(0.2)
    assert cluster.version == version
    driver.apps.patch_namespaced_deployment_scale("pod", "one", {"spec": {"replicas": 0}})
    cluster.wait(lambda: not cluster.objects("Pod", "one"))


def test_an_image_that_changes_ends_the_old_pod_before_the_new_begins(cluster: KubeApi, driver: OfficialClient) -> None:
    driver.namespace()
    driver.apply(deployment(image="engine:1"))
    cluster.wait(lambda: is_ready(cluster))
    seen = driver.core.list_namespaced_pod("one").metadata.resource_version
    driver.apply(deployment(image="engine:2"))
    stream = watching().stream(driver.core.list_namespaced_pod, "one", resource_version=seen, timeout_seconds=1)
    changes = [(change["type"], change["object"].spec.containers[0].image) for change in stream]
    coming = [change for change in changes if change[0] != "MODIFIED"]
    assert coming == [("DELETED", "engine:1"), ("ADDED", "engine:2")]


def test_a_quota_and_pod_security_refuse_the_pod_and_not_the_deployment(
    cluster: KubeApi, driver: OfficialClient
) -> None:
    driver.namespace("strict", **{"pod-security.kubernetes.io/enforce": "restricted"})
    driver.apply(deployment("strict"))
    driver.namespace("small")
    quota = {"name": "pod", "namespace": "small"}
    hard = {"limits.memory": "1Gi"}
    driver.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": quota, "spec": {"hard": hard}})
    driver.apply(deployment("small", container={"resources": {"limits": {"memory": "2Gi"}}}))

    def words(namespace: str) -> str:
        found = (cluster.get("Deployment", "pod", namespace) or {})["status"].get("conditions", [])
        return next((one["message"] for one in found if one["type"] == "ReplicaFailure"), "")

    cluster.wait(lambda: words("strict") and words("small"))
    assert 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false' in words("strict")
    asked = "requested: limits.memory=2Gi, used: limits.memory=0, limited: limits.memory=1Gi"
    assert f"is forbidden: exceeded quota: pod, {asked}" in words("small")
    assert {event["reason"] for event in cluster.objects("Event", "small")} == {"FailedCreate"}
    driver.core.patch_namespaced_resource_quota("pod", "small", {"spec": {"hard": {"limits.memory": "2Gi"}}})
    cluster.wait(lambda: is_ready(cluster, "small") and not words("small"))


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("image", "ImagePullBackOff"),
        ("unschedulable", "Unschedulable"),
        ("crash", "CrashLoopBackOff"),
        ("evicted", "Evicted"),
        ("evicted-silently", "Evicted"),
        ("volume", "ProvisioningFailed"),
        ("mount", "FailedMount"),
        ("oom", "OOMKilled"),
        ("slow", "ContainerCreating"),
    ],
)
def test_a_scripted_trouble_is_seen_where_a_real_one_is_and_passes(
    cluster: KubeApi, driver: OfficialClient, what: str, reason: str
) -> None:
    driver.namespace()
    cluster.script("one", what)
    driver.create(claim())
    driver.apply(deployment(**WITH_DATA))

    def told() -> bool:
        everything = [*cluster.objects("Pod", "one"), *cluster.objects("Event", "one")]
        return reason in json.dumps(everything)

    cluster.wait(told)
    cluster.script("one", None)
    cluster.wait(lambda: is_ready(cluster))


def test_a_volume_that_is_retained_moves_to_another_namespace(cluster: KubeApi, driver: OfficialClient) -> None:
    driver.namespace()
    driver.create(claim())
    driver.apply(deployment(**WITH_DATA))
    cluster.wait(lambda: is_ready(cluster))
    (name,) = [volume["metadata"]["name"] for volume in cluster.objects("PersistentVolume")]
    (cluster.directory_of(name) / "memory").write_text("kept")
    driver.core.patch_persistent_volume(name, {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    driver.core.delete_namespace("one")
    cluster.wait(lambda: (cluster.get("PersistentVolume", name) or {})["status"]["phase"] == "Released")

    driver.namespace("two")
    reference = {"namespace": "two", "name": "data", "uid": None, "resourceVersion": None}
    driver.core.patch_persistent_volume(name, {"spec": {"claimRef": reference}})
    driver.create(claim("two", volumeName=name))
    driver.apply(deployment("two", **WITH_DATA))
    cluster.wait(lambda: is_ready(cluster, "two"))
    assert (cluster.directory_of(name) / "memory").read_text() == "kept"

    driver.core.patch_persistent_volume(name, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
    driver.core.delete_namespace("two")
    cluster.wait(lambda: not cluster.objects("PersistentVolume"))
    assert not cluster.directory_of(name).exists()


def test_a_namespace_that_cannot_go_names_the_finalizer(cluster: KubeApi, driver: OfficialClient) -> None:
    driver.namespace()
    driver.create(secret(key="1"))
    cluster.finalizer("one", on="secret")
    driver.core.delete_namespace("one")

    def conditions() -> str:
        return json.dumps((cluster.get("Namespace", "one") or {"status": {}})["status"].get("conditions", []))

    cluster.wait(lambda: f"finalizers remaining: {HELD} in 1 resource instances" in conditions())
    with pytest.raises(ApiException) as inside:
        driver.create(claim())
    assert refusal(inside)["code"] == 403
    assert "because it is being terminated" in refusal(inside)["message"]
    with pytest.raises(ApiException) as again:
        driver.namespace()
    assert refusal(again)["message"].startswith("object is being deleted")
    cluster.drop_finalizer("one", on="secret")
    cluster.wait(lambda: cluster.get("Namespace", "one") is None)


def test_pods_of_a_lost_node_stay_terminating_until_it_is_back(tmp_path: Path) -> None:
    with KubeApi(tmp_path, eviction_seconds=0.1) as cluster:
        driver = OfficialClient(cluster)
        driver.namespace()
        driver.apply(deployment())
        cluster.wait(lambda: is_ready(cluster))
        cluster.lose_node("node")
        cluster.wait(lambda: any("deletionTimestamp" in pod["metadata"] for pod in cluster.objects("Pod", "one")))
        assert not is_ready(cluster)
        cluster.find_node("node")
        cluster.wait(lambda: is_ready(cluster))


def test_a_pod_runs_with_its_files_its_address_and_its_probes(tmp_path: Path) -> None:
    start = {"host": "0.0.0.0", "port": 8083, "data_dir": "/data", "model": "http://127.0.0.1:40000/v1"}
    probe = {"httpGet": {"path": "/", "port": 8083}, "periodSeconds": 5}
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": "start", "mountPath": "/etc/agentpods"}]
    container = {
        "command": ["/agentpods/bin/python", "-c", SERVER, "/etc/agentpods/start.json"],
        "volumeMounts": mounts,
        "startupProbe": probe,
        "readinessProbe": probe,
    }
    volumes = [*WITH_DATA["volumes"], {"name": "start", "secret": {"secretName": "engine"}}]
    with KubeApi(tmp_path, run=True, probe_seconds=0.1, crash_seconds=0.05) as cluster:
        driver = OfficialClient(cluster)
        driver.namespace()
        driver.create(claim())
        driver.create(secret(**{"start.json": json.dumps(start)}))
        driver.apply(deployment(container=container, volumes=volumes))
        cluster.wait(lambda: is_ready(cluster))
        (pod,) = cluster.objects("Pod", "one")
        assert pod["status"]["podIP"].startswith("127.")

        cluster.kill("one", "engine", oom=True)
        cluster.wait(lambda: not is_ready(cluster))
        cluster.wait(lambda: is_ready(cluster))
        (container,) = cluster.objects("Pod", "one")[0]["status"]["containerStatuses"]
        assert (container["restartCount"], container["lastState"]["terminated"]["reason"]) == (1, "OOMKilled")
        (volume,) = cluster.objects("PersistentVolume")
        assert (cluster.directory_of(volume["metadata"]["name"]) / "boots").read_text() == "xx"

        summary = json.loads(
            driver.core.connect_get_node_proxy_with_path("node", "stats/summary", _preload_content=False).data
        )
        (told,) = summary["pods"]
        assert told["containers"][0]["memory"]["workingSetBytes"] > 2**20
        data = next(found for found in told["volume"] if "pvcRef" in found)
        assert (data["usedBytes"], data["capacityBytes"]) == (2, 2**30)
