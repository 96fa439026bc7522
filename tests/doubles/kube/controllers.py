"""The controller manager and the scheduler: one thread that looks at a namespace after a change in it."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from tests.doubles.kube import deployments, garbage, namespaces, node, scheduler, volumes
from tests.doubles.kube.cluster import NODES, VOLUME, ClusterDouble
from tests.doubles.kube.store import Change

# Changes of these kinds need no reaction, except their deletion, for which a namespace may wait.
_QUIET = {"Event", "NetworkPolicy", "Ingress", "HTTPRoute", "ListenerSet", "Certificate", "Service", "StorageClass"}
_JOIN_SECONDS = 5.0

_EACH: tuple[Callable[[ClusterDouble, str], None], ...] = (
    garbage.collect,
    deployments.reconcile,
    volumes.reconcile,
    scheduler.reconcile,
    node.sync,
    deployments.report,
    namespaces.reconcile,
)


class Controllers:
    def __init__(self, cluster: ClusterDouble) -> None:
        self._cluster = cluster
        self._seen = 0
        self._thread = threading.Thread(target=self._run, name="kube-controllers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._cluster.stopping.set()
        self._cluster.touch(NODES)
        self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        while True:
            touched = self._next()
            if self._cluster.stopping.is_set():
                return
            for name in touched:
                if name.startswith(VOLUME):
                    volumes.reclaim(self._cluster, name.removeprefix(VOLUME))
                elif name != NODES:
                    self._look_at(name)
            if NODES in touched:
                node.evict(self._cluster)

    def _look_at(self, namespace: str) -> None:
        for part in _EACH:
            try:
                part(self._cluster, namespace)
            except Exception:  # noqa: BLE001 - shown, and the cluster goes on
                traceback.print_exc()

    def _next(self) -> set[str]:
        cluster = self._cluster
        with cluster.store.changed:
            while True:
                touched = cluster.take()
                for change in cluster.store.log[self._seen :]:
                    touched |= self._concerns(change)
                self._seen = cluster.store.version
                if touched or cluster.stopping.is_set():
                    return touched
                cluster.store.changed.wait(cluster.seconds_left())

    def _concerns(self, change: Change) -> set[str]:
        """The namespaces to look at after a change."""
        if change.kind == "Pod":
            self._cluster.loads.see(change.object, is_gone=change.type == "DELETED")
        if change.kind in _QUIET and change.type != "DELETED":
            return set()
        if change.kind == "Namespace":
            return {change.name}
        if change.kind == "Node":
            pending = {pod["metadata"]["namespace"] for pod in self._cluster.store.all("Pod") if _is_unplaced(pod)}
            return pending | {NODES}
        if change.kind == "PersistentVolume":
            claim = change.object["spec"].get("claimRef") or {}
            return {claim.get("namespace", NODES), VOLUME + change.name}
        if change.kind == "PersistentVolumeClaim" and change.type == "DELETED":
            return {change.namespace, VOLUME + change.object["spec"].get("volumeName", "")}
        return {change.namespace}


def _is_unplaced(pod: dict[str, object]) -> bool:
    spec = pod["spec"]
    return isinstance(spec, dict) and "nodeName" not in spec
