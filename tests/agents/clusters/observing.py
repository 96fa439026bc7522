"""Kubernetes objects, reduced to the fields that matter, and an observer that a test moves turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from agents.clusters import reading
from agents.clusters.models import Cluster, Pod
from agents.clusters.observer import Observer
from agents.clusters.probes import Wanted
from agents.clusters.reading import PodRow, PodState
from tests.patience import Patience

Json = dict[str, Any]

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
NAMESPACE = "pod-abc-1"
AGENT = "agt_abc"
LABELS = {
    "app.kubernetes.io/managed-by": "agentpods",
    "agentpods.dev/installation": "agentpods",
    "agentpods.dev/agent": AGENT,
}


def metadata(name: str, *, namespace: str | None = NAMESPACE, **more: Any) -> Json:
    inside = {"namespace": namespace} if namespace else {}
    return {"name": name, **inside, "creationTimestamp": "2026-11-22T11:59:00Z", "labels": LABELS, **more}


def namespace(name: str = NAMESPACE, **more: Any) -> Json:
    return {"metadata": metadata(name, namespace=None, **more), "status": {"phase": "Active"}}


def deployment(*, replicas: int = 1, conditions: list[Json] | None = None, namespace: str = NAMESPACE) -> Json:
    return {
        "metadata": metadata("pod", namespace=namespace),
        "spec": {"replicas": replicas},
        "status": {"conditions": conditions or []},
    }


def running(name: str, *, ready: bool = True, restarts: int = 0, last: Json | None = None) -> Json:
    state = {"running": {"startedAt": "2026-11-22T11:59:10Z"}}
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state, "lastState": _ended(last)}


def waiting(name: str, reason: str, message: str = "", *, restarts: int = 0, last: Json | None = None) -> Json:
    state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    return {"name": name, "ready": False, "restartCount": restarts, "state": state, "lastState": _ended(last)}


def ended(code: int, reason: str = "Error", at: str = "2026-11-22T11:59:50Z", **more: Any) -> Json:
    return {"exitCode": code, "reason": reason, "finishedAt": at, **more}


def _ended(last: Json | None) -> Json:
    return {"terminated": last} if last else {}


def pod(*containers: Json, name: str = "pod-1", init: Json | None = None, phase: str = "Running", **more: Any) -> Json:
    """A pod whose engine and gateway are ready, unless other containers are given. `meta` goes into its metadata."""
    meta = more.pop("meta", {})
    status = {"phase": phase, "podIP": "127.8.0.1", "containerStatuses": list(containers or WELL), **more}
    if init:
        status["initContainerStatuses"] = [init]
    meta = {"labels": {**LABELS, "agentpods.dev/certificate": "0" * 32}, **meta}
    return {"metadata": metadata(name, **meta), "status": status}


WELL = (running("engine"), running("gateway"))


def event(
    reason: str, message: str, *, about: str = "pod-1", kind: str = "Pod", at: str = "2026-11-22T11:59:55Z"
) -> Json:
    return {
        "metadata": metadata(f"{about}.{reason}"),
        "type": "Normal" if reason in {"Pulling", "Scheduled"} else "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": at,
        "involvedObject": {"kind": kind, "name": about},
    }


UNREADY = (running("engine", ready=False), running("gateway"))  # not ready yet, or no longer ready


def condition(type: str, status: str, reason: str = "", message: str = "") -> Json:
    return {"type": type, "status": status, "reason": reason, "message": message}


def mounting(*, name: str = "pod-1", age: str = "2026-11-22T11:59:00Z") -> Json:
    containers = [waiting(one, "ContainerCreating") for one in ("engine", "gateway")]
    return pod(*containers, name=name, phase="Pending", podIP=None, meta={"creationTimestamp": age})


def see(*pods: Json, conditions: list[Json] | None = None, replicas: int = 1, **more: Any) -> PodRow:
    """The result of `reading.read` for these pods of one deployment."""
    seen = PodState(
        namespace=namespace(), deployment=deployment(replicas=replicas, conditions=conditions), pods=pods, **more
    )
    return reading.read(seen, now=NOW)


class ObserverTurns:
    """`turns.until(condition)`: the observer takes turns until the condition is true."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer

    @property
    def cluster_cache(self) -> Any:
        """The cluster_cache (the observer's part for one cluster) of the only cluster."""
        return next(iter(self.observer._caches.values()), None)

    def until(self, condition: Callable[[], object], *, within: float = 20.0) -> None:
        patience = Patience(within)
        while not condition():
            assert not patience.ended(), "not so in time"
            self.observer._woken.wait(0.05)
            self.observer._woken.clear()
            self.observer.turn()

    def rest(self) -> None:
        """Take turns until there has been no news for half a second."""
        while self.observer._woken.wait(0.5):
            self.observer._woken.clear()
            self.observer.turn()

    def row(self, namespace: str, **wanted: Any) -> Pod:
        """The pod's row, as soon as it has these values."""
        self.until(lambda: Pod.objects.filter(pk=namespace, **wanted).exists())
        return Pod.objects.get(pk=namespace)


@contextmanager
def observing(*, wanted: Wanted = lambda _: {}, **given: Any) -> Iterator[ObserverTurns]:
    observer = Observer(wanted=wanted, **given)
    try:
        yield ObserverTurns(observer)
    finally:
        observer.close()


def cluster_of(kubeconfig: str, **given: Any) -> Cluster:
    return Cluster.objects.create(name="one", routing="none", kubeconfig=kubeconfig, **given)


def make_cluster(name: str, **given: Any) -> Cluster:
    return Cluster.objects.create(name=name, **{"routing": "none", "observed_at": timezone.now(), **given})
