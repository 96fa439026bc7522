"""A pod on its node: the state of its containers, and the pod status made from it."""

from __future__ import annotations

import ipaddress
import itertools
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.doubles.kube.cluster import ClusterDouble
from tests.doubles.kube.objects import condition, with_conditions
from tests.doubles.kube.resources import Object
from tests.doubles.kube.times import now

if TYPE_CHECKING:
    from tests.doubles.kube.container import ContainerDouble

_numbers = itertools.count(2)
_CREATING = ("ContainerCreating", "")


@dataclass
class ContainerState:
    """`waiting` is a reason and a message. A container that is not waiting and has not ended is running."""

    name: str
    image: str
    waiting: tuple[str, str] | None = _CREATING
    running_since: str = ""
    ended: Object | None = None
    last: Object | None = None
    restarts: int = 0
    ready: bool = False
    started: bool = False
    again_at: float = 0.0  # monotonic seconds: when a simulated container crashes again

    def run(self, *, ready: bool) -> None:
        self.waiting, self.ended, self.running_since = None, None, now()
        self.ready = self.started = ready

    def wait(self, reason: str, message: str) -> None:
        self.waiting, self.ready, self.started = (reason, message), False, False

    def end(self, code: int, reason: str = "") -> None:
        reason = reason or ("Completed" if code == 0 else "Error")
        started = self.running_since or now()
        self.ended = {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": now()}
        self.last, self.waiting, self.ready, self.started = self.ended, None, False, False

    def status(self) -> Object:
        if self.waiting:
            reason, message = self.waiting
            state: Object = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        elif self.ended:
            state = {"terminated": self.ended}
        else:
            state = {"running": {"startedAt": self.running_since}}
        return {
            "name": self.name,
            "image": self.image,
            "imageID": "" if self.waiting and not self.last else f"{self.image}@sha256:{'0' * 64}",
            "ready": self.ready,
            "started": self.started,
            "restartCount": self.restarts,
            "state": state,
            "lastState": {"terminated": self.last}
            if self.last and (self.waiting or self.last is not self.ended)
            else {},
        }


class PodRun:
    def __init__(self, cluster: ClusterDouble, pod: Object) -> None:
        self.cluster, self.pod = cluster, pod
        metadata = pod["metadata"]
        self.namespace: str = metadata["namespace"]
        self.name: str = metadata["name"]
        self.uid: str = metadata["uid"]
        self.states = {
            container["name"]: ContainerState(container["name"], container["image"])
            for container in pod["spec"]["containers"]
        }
        self.lock = threading.RLock()
        self.address = ""  # empty before the pod is set up
        self.since = now()
        self.is_begun = False
        self.is_over = False  # evicted or about to be removed: its state is not reported any more
        self.containers: list[ContainerDouble] = []
        self.directory: Path = cluster.settings.directory / "p" / self.uid[:8]
        self.stopper: threading.Thread | None = None

    @property
    def main(self) -> ContainerState:
        """The container to which a test's faults apply: the engine's, if there is one."""
        return self.states.get("engine") or next(iter(self.states.values()))

    def begin(self) -> None:
        self.is_begun = True
        self.address = _address(run=self.cluster.settings.run)

    def publish(self) -> None:
        """Report the pod's status to the API server."""
        with self.lock:
            if not self.is_over:
                self.cluster.registry.set_status("Pod", self.pod, **self._status())

    def finish(self, *, phase: str, **status: str) -> None:
        """Report the pod's end; later changes are not reported."""
        with self.lock:
            self.is_over = True
            found = {**self._status(), "phase": phase, **status}
            found["containerStatuses"] = [{**one, "ready": False} for one in found["containerStatuses"]]
            found["conditions"] = with_conditions(found["conditions"], _readiness([*self.states]))
            self.cluster.registry.set_status("Pod", self.pod, **found)

    def event(self, reason: str, message: str, *, type: str = "Warning") -> None:
        self.cluster.registry.event(self.pod, reason, message, type=type, source="kubelet")

    def _status(self) -> Object:
        live = self.cluster.store.get("Pod", self.namespace, self.name) or self.pod
        unready = [state.name for state in self.states.values() if not state.ready]
        is_new = any(state.waiting and not state.last for state in self.states.values())
        conditions = [
            condition("PodReadyToStartContainers", self.is_begun),
            condition("Initialized", self.is_begun),
            *_readiness(unready),
        ]
        address = {"podIP": self.address, "podIPs": [{"ip": self.address}]} if self.address else {}
        return {
            "phase": "Pending" if is_new else "Running",
            "conditions": with_conditions(live["status"].get("conditions"), conditions),
            "hostIP": "127.0.0.1",
            "hostIPs": [{"ip": "127.0.0.1"}],
            "startTime": self.since,
            "containerStatuses": [state.status() for state in self.states.values()],
            **address,
        }


def _readiness(unready: list[str]) -> list[Object]:
    if not unready:
        return [condition("Ready", True), condition("ContainersReady", True)]
    why = f"containers with unready status: [{' '.join(unready)}]"
    return [condition(about, False, "ContainersNotReady", why) for about in ("Ready", "ContainersReady")]


def _address(*, run: bool) -> str:
    """A new address. The addresses of real pods are on loopback, so each test process has its own range."""
    number = next(_numbers)
    if not run:
        return str(ipaddress.IPv4Address("10.244.0.0") + number)
    process = os.getpid() & 0x7FFF
    return f"127.{16 + (process >> 8)}.{process & 0xFF}.{2 + number % 250}"


def is_due(state: ContainerState) -> bool:
    return time.monotonic() >= state.again_at
