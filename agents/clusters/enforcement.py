"""Tests whether a cluster's network enforces network policies: the API server accepts policies even if nothing enforces
them.

A listener and two callers run in a namespace of their own, from the pods' own image. The first caller must get through.
Then a policy denies everything, and the second caller must not get through. The exit code of each caller says what it
found.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from agents.clusters.api import names, parts
from agents.clusters.api.client import Connection
from agents.clusters.api.place import ClusterSettings
from agents.clusters.api.rights import Inside
from agents.clusters.models import Enforcement
from agents.runtimes.base import RuntimeFailure

log = logging.getLogger(__name__)

Json = dict[str, Any]

PREFIX = "agentpods-check-"
LABEL = "agentpods.dev/check"
WORKLOAD = "app.kubernetes.io/name"
LIMIT_SECONDS = 90.0
LOOK_SECONDS = 1.0
LEFT_BEHIND = timedelta(minutes=10)
USER = 10002
PORT = 8080

THROUGH, BLOCKED = 0, 3
_OURS = {names.MANAGED_BY_LABEL: names.MANAGED_BY, LABEL: "network"}

LISTENER = """
import socket, sys
six = socket.has_dualstack_ipv6()
family = socket.AF_INET6 if six else socket.AF_INET
server = socket.create_server(("", int(sys.argv[1])), family=family, dualstack_ipv6=six)
while True:
    server.accept()[0].close()
"""
# This program waits for the network to be ready.
CALLER = f"""
import socket, sys, time
until = time.monotonic() + 20
while time.monotonic() < until:
    try:
        socket.create_connection((sys.argv[1], int(sys.argv[2])), 2).close()
        sys.exit({THROUGH})
    except OSError:
        time.sleep(1)
sys.exit({BLOCKED})
"""
# This program waits for the policy to take effect. A single lost packet does not count.
CALLER_BEHIND_POLICY = f"""
import socket, sys, time
until, blocked = time.monotonic() + 20, 0
while time.monotonic() < until and blocked < 3:
    try:
        socket.create_connection((sys.argv[1], int(sys.argv[2])), 2).close()
        blocked = 0
    except OSError:
        blocked += 1
    time.sleep(1)
sys.exit({BLOCKED} if blocked == 3 else {THROUGH})
"""


class Undecided(Exception):
    """It could not be found out. The message says why."""


def find_out(
    connection: Connection, place: ClusterSettings, *, pause: Callable[[float], object] = time.sleep
) -> Enforcement:
    """Run the test, for at most LIMIT_SECONDS. Raises Undecided, and RuntimeFailure when the cluster refuses."""
    if not place.pod_image:
        raise Undecided("POD_IMAGE is not set")
    _remove_what_was_left(connection, place)
    trial = PolicyTrial(connection, place, pause=pause)
    try:
        return trial.run()
    finally:
        trial.end()


class PolicyTrial:
    """One test: its namespace with its pods, and the time left."""

    def __init__(self, connection: Connection, place: ClusterSettings, *, pause: Callable[[float], object]) -> None:
        self.namespace = f"{PREFIX}{secrets.token_hex(4)}"
        self._connection = connection
        self._place = place
        self._inside = Inside(connection, self.namespace, labels=self._labels())
        self._pause = pause
        self._until = time.monotonic() + LIMIT_SECONDS

    def run(self) -> Enforcement:
        self._connection.apply(parts.namespace(self.namespace, self._labels()))
        self._inside.bind()
        pull = parts.pull_secrets(self._metadata(names.PULL_SECRET), self._place)
        for manifest in (*pull, self._workload("listener", LISTENER, str(PORT))):
            self._inside.apply(manifest)
        address = self._wait("listener", _address)
        if self._call("caller", CALLER, address) != THROUGH:
            raise Undecided("two pods cannot reach each other even without a policy")
        self._inside.apply(self._policy())
        code = self._call("caller-behind-policy", CALLER_BEHIND_POLICY, address)
        if self._wait("listener", _address) != address:
            raise Undecided("the pod that was called was replaced meanwhile")
        return Enforcement.ENFORCED if code == BLOCKED else Enforcement.IGNORED

    def end(self) -> None:
        try:
            self._connection.delete(f"/api/v1/namespaces/{self.namespace}")
        except RuntimeFailure as failure:
            log.warning("a namespace of a check is left behind, for the next one to remove: %s", failure)

    def _call(self, name: str, program: str, address: str) -> int:
        self._inside.apply(self._workload(name, program, address, str(PORT)))
        code: int = self._wait(name, _exit_code)
        if code not in {THROUGH, BLOCKED}:
            raise Undecided(f"the pod that calls ended with {code}")
        return code

    def _wait(self, name: str, told: Callable[[Json], Any]) -> Any:
        """Wait until the pod of this workload gives an answer, and return it."""
        selector = {"labelSelector": f"{WORKLOAD}={name}"}
        while True:
            pods = self._inside.get(f"/api/v1/namespaces/{self.namespace}/pods", selector)["items"]
            for pod in pods:
                if (found := told(pod)) is not None:
                    return found
            if time.monotonic() > self._until:
                raise Undecided(f"it took longer than {LIMIT_SECONDS:.0f} s; {_state(name, pods)}")
            self._pause(LOOK_SECONDS)

    # The objects of the test.

    def _labels(self) -> dict[str, str]:
        """The labels of all objects. No label of an agent is among them, so no other part of this service touches these
        objects."""
        return {**_OURS, names.INSTALLATION_LABEL: self._place.installation}

    def _metadata(self, name: str) -> Json:
        return {"name": name, "namespace": self.namespace, "labels": self._labels()}

    def _policy(self) -> Json:
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": self._metadata("deny-all"),
            "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        }

    def _workload(self, name: str, program: str, *arguments: str) -> Json:
        """A Deployment, because workers may not make other workloads. The cluster restarts a caller that has ended;
        that is harmless."""
        labels = {**self._labels(), WORKLOAD: name}
        container = {
            "name": name,
            "image": self._place.pod_image,
            "imagePullPolicy": self._place.pull_policy,
            "command": ["python", "-c", program, *arguments],
            "resources": _RESOURCES,
            "securityContext": parts.security(USER),
        }
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {**self._metadata(name), "labels": labels},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {WORKLOAD: name}},
                "template": {"metadata": {"labels": labels}, "spec": self._pod(container)},
            },
        }

    def _pod(self, container: Json) -> Json:
        return {
            **parts.pod(self._place, runtime_class=self._place.runtime_class),
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
        }


_RESOURCES = {
    "requests": {"memory": "32Mi", "cpu": "10m", "ephemeral-storage": "1Mi"},
    "limits": {"memory": "64Mi", "cpu": "200m", "ephemeral-storage": "16Mi"},
}


def _container(pod: Json) -> Json:
    found: list[Json] = pod.get("status", {}).get("containerStatuses") or [{}]
    return found[0]


def _address(pod: Json) -> str | None:
    """The address of a pod that runs, else None."""
    running = "running" in (_container(pod).get("state") or {})
    address: str | None = pod["status"].get("podIP") if running else None
    return address


def _exit_code(pod: Json) -> int | None:
    """The exit code of the program, even if it was started again since. None before it has ended."""
    for state in ("lastState", "state"):
        ended = (_container(pod).get(state) or {}).get("terminated")
        if ended:
            return int(ended["exitCode"])
    return None


def _state(name: str, pods: list[Json]) -> str:
    """Why a pod is not ready yet, in the cluster's words."""
    for pod in pods:
        waiting = (_container(pod).get("state") or {}).get("waiting") or {}
        conditions = pod.get("status", {}).get("conditions") or []
        words = [waiting.get("message") or waiting.get("reason"), *(one.get("message") for one in conditions)]
        if said := next(filter(None, words), None):
            return f"{name}: {said}"
    return f"{name}: nothing was heard of it"


def _remove_what_was_left(connection: Connection, place: ClusterSettings) -> None:
    """Remove the namespaces that a killed worker left."""
    selector = f"{names.INSTALLATION_LABEL}={place.installation},{LABEL}=network"
    old = datetime.now(UTC) - LEFT_BEHIND
    for found in connection.get("/api/v1/namespaces", {"labelSelector": selector})["items"]:
        metadata = found["metadata"]
        made = datetime.fromisoformat(metadata["creationTimestamp"])
        if made < old and "deletionTimestamp" not in metadata:
            with suppress(RuntimeFailure):
                connection.delete(f"/api/v1/namespaces/{metadata['name']}")
