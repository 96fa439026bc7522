"""The kubelet's own endpoint: `stats/summary` of a node, for accounts with the right to read it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.doubles.kube import quantities
from tests.doubles.kube.access import ClusterAccess, user
from tests.doubles.kube.cluster import ClusterDouble, PodUsage
from tests.doubles.kube.failures import Failure
from tests.doubles.kube.https import KubeExchange, KubeHttps
from tests.doubles.kube.pods import PodRun
from tests.doubles.kube.resources import BY_KIND, Object, ResourceTarget
from tests.doubles.kube.times import now

_SIMULATED_BYTES = 48 * 2**20
_STATS = "/stats/summary"


@dataclass
class Kubelets:
    """One kubelet for each node, each on its own port."""

    cluster: ClusterDouble
    access: ClusterAccess
    tls: ssl.SSLContext
    _open: dict[str, KubeHttps] = field(default_factory=dict)

    def open(self, node: str, port: int = 0) -> int:
        server = KubeHttps(port, self.tls, lambda exchange: self._respond(node, exchange))
        server.start()
        self._open[node] = server
        return server.port

    def close(self, node: str) -> None:
        if server := self._open.pop(node, None):
            server.close()

    def stop(self) -> None:
        for node in list(self._open):
            self.close(node)

    def _respond(self, node: str, exchange: KubeExchange) -> None:
        subresource = "stats" if exchange.route.startswith("/stats") else "proxy"
        try:
            self.cluster.troubles.meet(exchange.command, f"/kubelet/{node}{exchange.path}")
            account = self.access.account(exchange.headers.get("Authorization"), exchange.certified)
            self.access.check(account, "get", ResourceTarget(BY_KIND["Node"], name=node, subresource=subresource))
            exchange.answer(200, self.document(node, exchange.route))
        except Failure as failure:
            text = failure.message
            if failure.code == 403:
                token = (exchange.headers.get("Authorization") or "").partition(" ")[2]
                who = user(self.access.tokens.get(token, ""))
                text = f"Forbidden (user={who}, verb=get, resource=nodes, subresource(s)=[{subresource}])"
            exchange.answer(failure.code, text.encode(), retry_after=failure.retry_after)

    def document(self, node: str, path: str) -> Any:
        if node not in self._open:
            raise Failure(503, f"error trying to reach service: dial tcp: no route to node {node}")
        if path != _STATS:
            raise Failure(404, "404 page not found")
        return summary(self.cluster, node)


def summary(cluster: ClusterDouble, node: str) -> Object:
    with cluster.store.changed:
        runs = [run for runs in cluster.pods.values() for run in runs.values()]
    here = [run for run in runs if run.pod["spec"]["nodeName"] == node and not run.is_over]
    disk = {"time": now(), "availableBytes": 2**39, "capacityBytes": 2**40, "usedBytes": 2**39}
    return {
        "node": {"nodeName": node, "memory": _memory(8 * 2**30), "fs": disk},
        "pods": [_pod(cluster, run) for run in here],
    }


def _pod(cluster: ClusterDouble, run: PodRun) -> Object:
    told = cluster.usage.get(run.namespace, PodUsage())
    used = {
        name: _used(run, name, told) for name, state in run.states.items() if state.running_since and not state.waiting
    }
    return {
        "podRef": {"name": run.name, "namespace": run.namespace, "uid": run.uid},
        "startTime": run.since,
        "containers": [
            {
                "name": name,
                "startTime": run.since,
                "memory": _memory(size) | _available(run, name, size),
                "rootfs": {"usedBytes": 0},
            }
            for name, size in used.items()
        ],
        "memory": _memory(sum(used.values()) + 2**20),
        "volume": [_volume(run, volume, told) for volume in run.pod["spec"].get("volumes") or []],
        "ephemeral-storage": {"time": now(), "usedBytes": 4096},
    }


def _memory(size: int) -> Object:
    return {"time": now(), "usageBytes": size + 4096, "workingSetBytes": size, "rssBytes": size}


def _available(run: PodRun, name: str, size: int) -> Object:
    """The memory that is still available, if there is a limit."""
    container = next(one for one in run.pod["spec"]["containers"] if one["name"] == name)
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    return {"availableBytes": max(0, int(quantities.quantity(limit)) - size)} if limit else {}


def _used(run: PodRun, name: str, told: PodUsage) -> int:
    if told.memory_bytes is not None and name == run.main.name:
        return told.memory_bytes
    started = next((found for found in run.containers if found.name == name), None)
    return _resident(started.pid) if started else _SIMULATED_BYTES


def _resident(pid: int) -> int:
    """The resident memory in bytes of a process and its children."""
    total = 0
    for process in _tree(pid):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def _tree(pid: int) -> Iterable[psutil.Process]:
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)] if pid else []
    except psutil.NoSuchProcess:
        return []


def _volume(run: PodRun, volume: Object, told: PodUsage) -> Object:
    found: Object = {"time": now(), "name": volume["name"], "inodesUsed": 1}
    claim_name = volume.get("persistentVolumeClaim", {}).get("claimName")
    if claim_name is None:
        return {**found, "usedBytes": 4096, "capacityBytes": 2**40, "availableBytes": 2**39}
    claim = run.cluster.store.get("PersistentVolumeClaim", run.namespace, claim_name) or {}
    capacity = int(quantities.quantity(claim.get("status", {}).get("capacity", {}).get("storage", "1Gi")))
    volume_name = claim.get("spec", {}).get("volumeName", "")
    used = told.disk_bytes if told.disk_bytes is not None else tree_size(run.cluster.volume_directory(volume_name))
    return {
        **found,
        "usedBytes": used,
        "capacityBytes": capacity,
        "availableBytes": max(0, capacity - used),
        "pvcRef": {"name": claim_name, "namespace": run.namespace},
    }


def tree_size(directory: Path) -> int:
    """The size of the files in bytes. Files that disappear meanwhile are not counted."""
    total, waiting = 0, [str(directory)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total
