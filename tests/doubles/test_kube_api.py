"""The double of a cluster is as strict as a real cluster in all cases on which a driver may rely."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from kubernetes.client.exceptions import ApiException

from agents.clusters.api.client import Connection
from tests.doubles.kube.official_client import OfficialClient, deployment, refusal, secret, watching
from tests.doubles.kube_api import KubeApi

pytestmark = pytest.mark.unmeasured


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KubeApi]:
    with KubeApi(tmp_path / "cluster") as cluster:
        yield cluster


@pytest.fixture
def driver(cluster: KubeApi) -> OfficialClient:
    return OfficialClient(cluster)


# Applying.


def test_applying_the_same_twice_makes_no_new_version(cluster: KubeApi, driver: OfficialClient) -> None:
    driver.namespace()
    body = deployment(replicas=0)
    driver.apply(body)
    cluster.wait(lambda: (cluster.get("Deployment", "pod", "one") or {})["status"].get("observedGeneration") == 1)
    before = cluster.get("Deployment", "pod", "one")
    driver.apply(body)
    driver.apply(secret(key="1"))
    first = cluster.get("Secret", "engine", "one")
    driver.apply(secret(key="1"))
    assert cluster.get("Deployment", "pod", "one") is before
    assert cluster.get("Secret", "engine", "one") is first


def test_another_managers_field_is_refused_until_it_is_forced(cluster: KubeApi, driver: OfficialClient) -> None:
    driver.namespace()
    driver.apply(deployment(image="engine:1"))
    with pytest.raises(ApiException) as error:
        driver.apply(deployment(image="engine:2"), manager="somebody")
    status = refusal(error)
    assert (status["code"], status["reason"]) == (409, "Conflict")
    assert 'conflict with "agentpods": .spec.template.spec.containers[{"name":"engine"}].image' in status["message"]
    found = driver.apply(deployment(image="engine:2"), manager="somebody", force=True)
    assert found.spec.template.spec.containers[0].image == "engine:2"


def test_what_is_left_out_of_an_intent_goes_unless_another_manager_owns_it(
    cluster: KubeApi, driver: OfficialClient
) -> None:
    driver.namespace()
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    driver.apply(deployment(container={"env": env}))
    driver.apply(deployment(container={"env": env[:1]}), manager="somebody")
    found = driver.apply(deployment())
    assert [entry.name for entry in found.spec.template.spec.containers[0].env] == ["A"]


def test_an_unknown_field_is_refused_with_its_name(driver: OfficialClient) -> None:
    driver.namespace()
    with pytest.raises(ApiException) as error:
        driver.apply(deployment(container={"imagee": "x"}))
    assert refusal(error)["code"] == 400
    assert "imagee" in refusal(error)["message"]


def test_a_mount_without_its_volume_is_invalid(driver: OfficialClient) -> None:
    driver.namespace()
    with pytest.raises(ApiException) as error:
        driver.apply(deployment(container={"volumeMounts": [{"name": "data", "mountPath": "/data"}]}))
    assert refusal(error)["reason"] == "Invalid"
    assert 'volumeMounts[0].name: Not found: "data"' in refusal(error)["message"]


def test_a_replace_with_an_old_version_is_a_conflict(driver: OfficialClient) -> None:
    driver.namespace()
    first = driver.create(secret(key="1"))
    driver.core.patch_namespaced_secret("engine", "one", {"stringData": {"key": "2"}})
    with pytest.raises(ApiException) as error:
        driver.core.replace_namespaced_secret("engine", "one", first)
    assert refusal(error)["reason"] == "Conflict"
    assert "the object has been modified" in refusal(error)["message"]


def test_an_account_may_do_what_its_rules_say(cluster: KubeApi) -> None:
    cluster.allow("observe", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}])
    observer = OfficialClient(cluster, "observe")
    assert observer.core.list_pod_for_all_namespaces().items == []
    with pytest.raises(ApiException) as error:
        observer.core.list_namespaced_secret("one")
    who = "system:serviceaccount:agentpods:observe"
    what = f'User "{who}" cannot list resource "secrets" in API group "" in the namespace "one"'
    assert refusal(error)["message"] == f"secrets is forbidden: {what}"
    assert refusal(error)["code"] == 403


# Lists and watches.


def test_a_list_comes_in_pages_and_by_labels(driver: OfficialClient) -> None:
    for number in range(5):
        driver.namespace(f"n{number}", odd=str(number % 2))
    first = driver.core.list_namespace(label_selector="odd", limit=3)
    rest = driver.core.list_namespace(label_selector="odd", limit=3, _continue=first.metadata._continue)
    assert [found.metadata.name for found in [*first.items, *rest.items]] == ["n0", "n1", "n2", "n3", "n4"]
    assert len(driver.core.list_namespace(label_selector="odd=1").items) == 2
    assert len(driver.core.list_namespace(field_selector="metadata.name=n3").items) == 1


def test_a_watch_tells_what_its_selector_sees_and_ends_with_a_bookmark(driver: OfficialClient) -> None:
    seen = driver.core.list_namespace(label_selector="agent").metadata.resource_version
    driver.namespace("one", agent="a")
    driver.namespace("other")
    driver.core.patch_namespace("one", {"metadata": {"labels": {"agent": None}}})
    stream = driver.core.list_namespace(
        watch=True,
        resource_version=seen,
        label_selector="agent",
        timeout_seconds=1,
        allow_watch_bookmarks=True,
        _preload_content=False,
    )
    lines = [json.loads(line) for line in stream]
    assert [(line["type"], line["object"]["metadata"].get("name")) for line in lines] == [
        ("ADDED", "one"),
        ("DELETED", "one"),
        ("BOOKMARK", None),
    ]


def test_versions_that_were_compacted_are_gone(cluster: KubeApi, driver: OfficialClient) -> None:
    driver.namespace()
    cluster.compact()
    with pytest.raises(ApiException) as error:
        list(watching().stream(driver.core.list_namespace, resource_version="1", timeout_seconds=1))
    assert error.value.status == 410
    cluster.compact(as_event=True)
    stream = driver.core.list_namespace(watch=True, resource_version="1", timeout_seconds=1, _preload_content=False)
    (line,) = [json.loads(line) for line in stream]
    assert (line["type"], line["object"]["code"], line["object"]["reason"]) == ("ERROR", 410, "Expired")


@pytest.mark.parametrize("silently", [True, False])
def test_watches_are_cut_or_fall_silent(cluster: KubeApi, driver: OfficialClient, *, silently: bool) -> None:
    seen: list[str] = []

    def follow() -> None:
        stream = driver.core.list_namespace(watch=True, resource_version="0", _preload_content=False)
        try:
            seen.extend(json.loads(line)["object"]["metadata"]["name"] for line in stream)
        except Exception as error:  # noqa: BLE001 - whichever of the client's
            seen.append(type(error).__name__)

    thread = threading.Thread(target=follow)
    thread.start()
    cluster.wait(lambda: cluster.watching)
    cluster.cut_watches(silently=silently)
    driver.namespace("later")
    if silently:
        assert cluster.watching == 0
        assert thread.is_alive()
        cluster.stop()
    thread.join(5)
    assert "later" not in seen
    assert not thread.is_alive()


def test_the_server_comes_back_with_all_it_had(cluster: KubeApi, driver: OfficialClient) -> None:
    driver.namespace()
    cluster.stop()
    with pytest.raises(Exception, match="refused"):
        driver.core.list_namespace(_request_timeout=1)
    cluster.start()
    assert driver.core.read_namespace("one").metadata.name == "one"


def test_answers_fail_as_often_as_told_and_lists_may_be_old(cluster: KubeApi, driver: OfficialClient) -> None:
    cluster.fail("GET", "/namespaces", status=500)
    with pytest.raises(ApiException) as error:
        driver.core.list_namespace()
    assert refusal(error)["reason"] == "InternalError"
    cluster.stale()
    driver.namespace()
    assert len(driver.core.list_namespace().items) == 2
    cluster.fresh()
    assert len(driver.core.list_namespace().items) == 3


def test_a_connection_may_be_dropped_and_a_kubelet_may_fail(cluster: KubeApi, driver: OfficialClient) -> None:
    cluster.fail("POST", "/namespaces", status=0)
    with pytest.raises(Exception, match=r"(?i)closed|reset|aborted|eof"):
        driver.namespace()
    driver.namespace()
    cluster.fail(path_contains="/kubelet/node/stats", status=503)
    assert stats(cluster, "observe")[0] == 503
    cluster.allow("observe", [{"apiGroups": [""], "resources": ["nodes/stats"], "verbs": ["get"]}])
    assert stats(cluster, "observe")[0] == 200
    cluster.allow("observe", [])
    assert stats(cluster, "observe") == (
        403,
        b"Forbidden (user=system:serviceaccount:agentpods:observe, verb=get, resource=nodes, subresource(s)=[stats])",
    )
    with pytest.raises(ApiException, match="403"):
        OfficialClient(cluster, "observe").core.connect_get_node_proxy_with_path("node", "stats/summary")


def stats(cluster: KubeApi, account: str) -> tuple[int, bytes]:
    """Ask the node's kubelet directly. Returns the status and the body."""
    driver = OfficialClient(cluster, account)
    port = (cluster.get("Node", "node") or {})["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    token = yaml.safe_load(cluster.kubeconfig(account))["users"][0]["user"]["token"]
    tls = ssl.create_default_context(cafile=driver.api.configuration.ssl_ca_cert)
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=tls)
    with closing(connection):
        connection.request("GET", "/stats/summary", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_lists_of_its_own_kinds_say_the_kind_once_and_from_the_cache_all_of_them(
    cluster: KubeApi, driver: OfficialClient
) -> None:
    answer = driver.core.list_namespace(resource_version="0", limit=1, _preload_content=False)
    found = json.loads(answer.data)
    assert (found["kind"], len(found["items"])) == ("NamespaceList", 2)
    assert all("kind" not in one for one in found["items"])


def test_clients_that_hang_up_before_they_are_let_in_keep_nobody_out(cluster: KubeApi) -> None:
    at = urlsplit(cluster.url)
    for _ in range(300):
        with socket.create_connection((str(at.hostname), int(at.port or 0))) as hasty:
            # Makes close() send a TCP reset.
            hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            hasty.sendall(b"hello")
    with closing(Connection("after", cluster.kubeconfig())) as connection:
        assert connection.get("/version")["major"] == "1"
