"""Memory and disk of a cluster's pods, as their nodes measure them: one request for each node, directly to its kubelet.

We send the kubelet our token or certificate, so it must first prove with a certificate of the cluster's authority that
it is a kubelet. Nothing is sent to one that cannot. Clusters whose kubelets signed their own certificates need
`serverTLSBootstrap: true` in the kubelets' configuration, or the setting `stats_through_api` of the cluster.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import msgspec
import requests

from agents.clusters import connections, objects
from agents.clusters.api import names
from agents.clusters.api.client import Connection
from agents.clusters.models import Cluster, Pod
from agents.clusters.objects import Json
from agents.runtimes.base import RuntimeFailure, Usage
from config import answers, sql, waiting

log = logging.getLogger(__name__)

NODES_SECONDS = 60.0
NODE_SECONDS = 5.0
AT_ONCE = 16
MAX_ANSWER_BYTES = 64 * 2**20

_STORE = """
UPDATE agents_pod p SET disk_bytes = m.disk
FROM unnest(%(namespaces)s::text[], %(disks)s::bigint[]) AS m(namespace, disk)
WHERE p.cluster_id = %(cluster)s AND p.namespace = m.namespace AND p.disk_bytes IS DISTINCT FROM m.disk
"""


class Unmeasured(Exception):
    """This node gives no measurements. The message is for the operator."""


class _Reference(msgspec.Struct):
    name: str
    namespace: str = ""


class _Memory(msgspec.Struct):
    workingSetBytes: int | None = None  # noqa: N815 # the kubelet's names


class _Container(msgspec.Struct):
    name: str
    memory: _Memory | None = None


class _Volume(msgspec.Struct):
    usedBytes: int | None = None  # noqa: N815
    pvcRef: _Reference | None = None  # noqa: N815


class _PodStats(msgspec.Struct):
    podRef: _Reference  # noqa: N815
    startTime: str = ""  # noqa: N815
    containers: list[_Container] = []
    volume: list[_Volume] = []


class _Summary(msgspec.Struct):
    pods: list[_PodStats] = []


_decoder = msgspec.json.Decoder(_Summary)


@dataclass(frozen=True, slots=True)
class KubernetesNode:
    name: str
    url: str | None  # of its kubelet


_known_nodes: dict[int, tuple[Connection, float, list[KubernetesNode]]] = {}
_lock = threading.Lock()


def measure(cluster: Cluster) -> dict[str, Usage]:
    """The memory and disk of every pod of the cluster that has a row, in bytes; None is unknown.

    Raises RuntimeFailure when the nodes are not known.
    """
    bridges = dict(Pod.objects.filter(cluster=cluster).values_list("namespace", "bridge_bytes"))
    if not bridges:
        return {}
    waiting.release_connection()
    connection = connections.of(cluster)
    ask = _through_api if cluster.stats_through_api else _kubelet
    found = _by_namespace(_ask_all(nodes_of(cluster.pk, connection), partial(ask, connection)))
    usages = {name: _usage(found.get(name), bridge_bytes=bridge) for name, bridge in bridges.items()}
    _store(cluster, usages)
    return usages


def nodes_of(cluster_id: int, connection: Connection) -> list[KubernetesNode]:
    """The ready nodes of the cluster, at most a minute old."""
    with _lock:
        known = _known_nodes.get(cluster_id)
    if known and known[0] is connection and time.monotonic() < known[1]:
        return known[2]
    body = connection.get("/api/v1/nodes", {"resourceVersion": "0"})
    nodes = [_node(one) for one in body.get("items") or () if objects.condition(one, "Ready").get("status") == "True"]
    with _lock:
        _known_nodes[cluster_id] = (connection, time.monotonic() + NODES_SECONDS, nodes)
    return nodes


def _node(obj: Json) -> KubernetesNode:
    status: Json = obj.get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
    addresses = status.get("addresses") or ()
    address = next((one["address"] for one in addresses if one.get("type") == "InternalIP"), None)
    host = f"[{address}]" if address and ":" in address else address
    return KubernetesNode(obj["metadata"]["name"], f"https://{host}:{port}" if host and port else None)


def _ask_all(nodes: list[KubernetesNode], ask: Callable[[KubernetesNode], _Summary]) -> list[_PodStats]:
    """Ask all nodes, some at a time. A node that fails does not affect the others."""
    if not nodes:
        return []
    with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(nodes)), thread_name_prefix="nodes") as threads:
        return [pod for pods in threads.map(partial(_pods_of, ask), nodes) for pod in pods]


def _pods_of(ask: Callable[[KubernetesNode], _Summary], node: KubernetesNode) -> list[_PodStats]:
    try:
        return ask(node).pods
    except (Unmeasured, RuntimeFailure, msgspec.MsgspecError) as failure:
        log.warning("a node could not be measured", extra={"node": node.name, "error": str(failure)})
        return []


def _through_api(connection: Connection, node: KubernetesNode) -> _Summary:
    path = f"/api/v1/nodes/{node.name}/proxy/stats/summary"
    return msgspec.convert(connection.get(path, seconds=NODE_SECONDS), _Summary)


def _kubelet(connection: Connection, node: KubernetesNode) -> _Summary:
    if node.url is None:
        raise Unmeasured("it names no address")
    with requests.Session() as session:
        session.trust_env = False  # no proxy, and no other credentials
        session.verify = connection.authority() or True
        session.cert = connection.certificate()
        if token := connection.bearer():
            session.headers["Authorization"] = f"Bearer {token}"
        return _decoder.decode(_read(session, f"{node.url}/stats/summary"))


def _read(session: requests.Session, url: str) -> bytes:
    until = time.monotonic() + NODE_SECONDS
    try:
        with session.get(url, timeout=NODE_SECONDS, allow_redirects=False, stream=True) as answer:
            if answer.status_code != 200:
                raise Unmeasured(f"it answered {answer.status_code}")
            return answers.body_of(answer, at_most=MAX_ANSWER_BYTES, until=until, refuse=_endless)
    except requests.exceptions.SSLError as error:
        raise Unmeasured(
            "its certificate is not of the cluster's authority, so it gets no token of ours:"
            " set serverTLSBootstrap on its kubelet, or let the cluster be asked through the API server"
        ) from error
    except OSError as error:
        raise Unmeasured(f"it does not answer ({type(error).__name__})") from error


def _endless(why: str) -> Unmeasured:
    return Unmeasured(f"its answer did not end: {why}")


def _by_namespace(pods: Iterable[_PodStats]) -> dict[str, _PodStats]:
    """The measurements by namespace. Of two pods in a namespace the newer one counts: the other is ending."""
    return {pod.podRef.namespace: pod for pod in sorted(pods, key=lambda pod: pod.startTime)}


def _usage(pod: _PodStats | None, *, bridge_bytes: int | None) -> Usage:
    if pod is None:
        return Usage(memory_bytes=None, disk_bytes=None)
    disk = next((one.usedBytes for one in pod.volume if one.pvcRef and one.pvcRef.name == names.CLAIM), None)
    return Usage(memory_bytes=_memory(pod, bridge_bytes), disk_bytes=disk)


def _memory(pod: _PodStats, bridge_bytes: int | None) -> int | None:
    """The memory of the engine's container without that of the bridge, in bytes. None while one of the two is unknown.

    Pages of files that both have open count for the one that read them first. So the difference can be negative, which
    counts as 0.
    """
    engine = next((one.memory for one in pod.containers if one.name == names.ENGINE), None)
    if engine is None or engine.workingSetBytes is None or bridge_bytes is None:
        return None
    return max(0, engine.workingSetBytes - bridge_bytes)


def _store(cluster: Cluster, usages: dict[str, Usage]) -> None:
    """Store the disks that changed: those of stopped pods cannot be measured again."""
    known = {name: usage.disk_bytes for name, usage in usages.items() if usage.disk_bytes is not None}
    if not known:
        return
    sql.execute(_STORE, {"namespaces": list(known), "disks": list(known.values()), "cluster": cluster.pk})
