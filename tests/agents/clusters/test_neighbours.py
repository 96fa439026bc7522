"""An agent calls another agent like any visitor, through the router's pods, and in no other way.

This runs on a real cluster with `make test-cluster`, because the cluster's network decides. A double would only repeat
the policy.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from agents.clusters import connections, enforcement
from agents.clusters.api import names
from agents.clusters.api.client import Connection, path_of
from agents.clusters.models import Cluster, Enforcement
from agents.runtimes.base import Phase
from tests.agents.clusters import ground, reaping
from tests.agents.clusters.ground import ToldRuntime
from tests.agents.clusters.reaping import ADMIN_KUBECONFIG, FOREIGN
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes.conftest import pod_spec, wait_for
from tests.agents.runtimes.test_contract import say

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not ground.is_real or ADMIN_KUBECONFIG not in os.environ, reason="a router on a real cluster"),
]

Json = dict[str, Any]

ROUTER, PORT, OTHER_PORT = "agentpods-test-router", 8080, 8090
CALLER, CALLED = "pod-abc-1", "pod-def-1"
# Forwards all connections to one address. It listens on a port for visitors and on a port that agents must not reach.
PROGRAM = f"""
import socket, sys, threading
def pour(one, other):
    while data := one.recv(65536):
        other.sendall(data)
    other.shutdown(socket.SHUT_WR)
def serve(port):
    server = socket.create_server(("", port))
    while True:
        visitor = server.accept()[0]
        pod = socket.create_connection((sys.argv[1], {names.PUBLIC_PORT}), 5)
        for one, other in ((visitor, pod), (pod, visitor)):
            threading.Thread(target=pour, args=(one, other), daemon=True).start()
threading.Thread(target=serve, args=({OTHER_PORT},), daemon=True).start()
serve({PORT})
"""


@pytest.fixture
def administrator() -> Iterator[Connection]:
    given = Path(os.environ[ADMIN_KUBECONFIG]).read_text(encoding="utf-8")
    with contextlib.closing(Connection("administrator", given)) as one:
        yield one
        reaping.clear_foreign(one)


@pytest.fixture
def agents(tmp_path: Path, settings: Settings, administrator: Connection) -> Iterator[ToldRuntime]:
    """Two agents with different owners, on a cluster where visitors come through the router's pods."""
    with ground.runtime_on(tmp_path, settings) as runtime:
        Cluster.objects.update(router_namespace=ROUTER, router_ports=[PORT])
        runtime.deploy(pod_spec(CALLER))
        runtime.deploy(pod_spec(CALLED, agent_id="agt_def"))
        for namespace in (CALLER, CALLED):
            wait_for(runtime, Phase.READY, namespace)
        yield runtime


def a(kind: str, version: str, **spec: Any) -> Json:
    metadata = {"name": "router", "namespace": ROUTER, "labels": dict(FOREIGN)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def router(administrator: Connection, *, to: str) -> str:
    """Start a router that forwards to `to`. Returns its service address, which the cluster translates to the pod's."""
    _until(lambda: administrator.find(f"/api/v1/namespaces/{ROUTER}") is None, "the end of an earlier router")
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ROUTER, "labels": dict(FOREIGN)}}
    container = {
        "name": "router",
        "image": os.environ["TEST_POD_IMAGE"],
        "imagePullPolicy": os.environ.get("TEST_PULL_POLICY", "IfNotPresent"),
        "command": ["python", "-c", PROGRAM, to],
        "readinessProbe": {"tcpSocket": {"port": OTHER_PORT}, "periodSeconds": 1},
    }
    pod = {"metadata": {"labels": dict(FOREIGN)}, "spec": {"containers": [container]}}
    ports = [{"name": f"port-{port}", "port": port} for port in (PORT, OTHER_PORT)]
    workload = a("Deployment", "apps/v1", replicas=1, selector={"matchLabels": dict(FOREIGN)}, template=pod)
    for manifest in (home, workload):
        administrator.apply(manifest)
    service = administrator.apply(a("Service", "v1", selector=dict(FOREIGN), ports=ports))
    path = path_of(workload)
    _until(lambda: administrator.get(path).get("status", {}).get("readyReplicas"), "the router")
    return str(service["spec"]["clusterIP"])


def _until(seen: Callable[[], object], what: str) -> None:
    eventually(seen, within=20 * ground.PATIENCE, what=what)


def test_an_agent_reaches_another_by_the_router_and_by_nothing_else(
    agents: ToldRuntime, administrator: Connection
) -> None:
    service = administrator.get(f"/api/v1/namespaces/{CALLED}/services/{names.POD}")["spec"]["clusterIP"]
    address = router(administrator, to=service)

    def calls(where: str) -> str:
        return say(agents, f"get http://{where}/healthz", namespace=CALLER)

    eventually(lambda: calls(f"{address}:{PORT}") == "200", within=10 * ground.PATIENCE, what="a visit")
    cluster = Cluster.objects.get()
    verdict = enforcement.find_out(connections.of(cluster), connections.place(cluster))
    if verdict != Enforcement.ENFORCED:
        pytest.skip("this cluster's network keeps no policies: nothing is closed")
    closed = [f"{address}:{OTHER_PORT}", f"{service}:{names.PUBLIC_PORT}", f"{service}:{names.MANAGEMENT_PORT}"]
    closed += ["169.254.169.254:80", api_server(administrator)]
    assert {where: calls(where) for where in closed} == dict.fromkeys(closed, "unreachable")


def api_server(administrator: Connection) -> str:
    """The address of the API server, as pods would use it."""
    spec = administrator.get("/api/v1/namespaces/default/services/kubernetes")["spec"]
    return f"{spec['clusterIP']}:443"
