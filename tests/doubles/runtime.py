"""A stand-in for a cluster: its pods are entries of a dict and behave as a test says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agents.pod.logs.reading import Left
from agents.runtimes.base import Endpoint, Observation, Phase, PodSpec, RuntimeFailure, Usage

NOWHERE = Endpoint(public_url="http://127.0.0.1:9", management_url="http://127.0.0.1:9")


@dataclass
class PodDouble:
    spec: PodSpec
    seen: Observation


class ScriptedRuntime:
    """New pods are at once in the phase `comes_up_as`; `trouble` makes every change fail."""

    def __init__(self) -> None:
        self.pods: dict[str, PodDouble] = {}
        self.data: set[str] = set()
        self.calls: list[tuple[str, str]] = []
        self.comes_up_as = Phase.READY
        self.trouble: RuntimeFailure | None = None
        self.addresses: dict[str, Endpoint] = {}
        self.measured: dict[str, Usage] = {}
        self.left: dict[str, Left] = {}  # the logs of pods, readable without the pods
        self.changed: list[str] = []  # what a repair restores

    @classmethod
    @contextmanager
    def installed(cls, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedRuntime]:
        scripted = cls()
        monkeypatch.setattr("agents.runtimes._driver", lambda name: scripted)
        yield scripted

    def set(self, namespace: str, **seen: Any) -> None:
        """Change what the runtime reports of a pod."""
        self.pods[namespace].seen = replace(self.pods[namespace].seen, **seen)

    def lose(self, namespace: str) -> None:
        """The pod disappears, as after the death of its node."""
        del self.pods[namespace]

    def deploy(self, spec: PodSpec) -> None:
        self._record("deploy", spec.namespace)
        self.data.add(spec.agent_id)
        known = self.pods.get(spec.namespace)
        if known and known.seen.phase != Phase.STOPPED and known.seen.gateway_alive:
            return
        self.pods[spec.namespace] = PodDouble(spec, _fresh(spec, self.comes_up_as))

    def configure(self, spec: PodSpec) -> None:
        self._record("configure", spec.namespace)
        if spec.namespace not in self.pods:
            raise RuntimeFailure("no such pod", cause="POD_LOST")
        self.pods[spec.namespace].spec = spec
        self.set(spec.namespace, revision=spec.config.revision)

    def repair(self, spec: PodSpec) -> list[str]:
        self._record("repair", spec.namespace)
        self.set(spec.namespace, strayed=False)
        return list(self.changed)

    def told(self, namespace: str, put_back: list[str]) -> None:
        self._record("told", namespace)

    def secure(self, namespace: str) -> None:
        self._record("secure", namespace)

    def unroute(self, namespace: str, domain: str) -> None:
        self._record(f"unroute {domain}", namespace)

    def expect_data(self, spec: PodSpec) -> None:
        self._record("expect_data", spec.namespace)
        if spec.namespace in self.pods:
            self.pods[spec.namespace].spec = spec

    def stop(self, namespace: str) -> None:
        self._record("stop", namespace)
        if namespace in self.pods:
            self.set(namespace, phase=Phase.STOPPED, gateway_alive=False)

    def delete(self, namespace: str, *, agent_id: str, data: bool) -> None:
        self._record("delete", namespace)
        self.pods.pop(namespace, None)
        if data:
            self.data.discard(agent_id)

    def observe(self, suffix: str | None = None) -> dict[str, Observation]:
        start = f"pod-{suffix}-" if suffix else ""
        return {namespace: pod.seen for namespace, pod in self.pods.items() if namespace.startswith(start)}

    def usage(self) -> dict[str, Usage]:
        unknown = Usage(memory_bytes=None, disk_bytes=None)
        return {namespace: self.measured.get(namespace, unknown) for namespace in self.pods}

    def endpoint(self, namespace: str) -> Endpoint | None:
        if namespace not in self.pods:
            return None
        return self.addresses.get(namespace, NOWHERE)

    def left_log(self, namespace: str) -> Left | None:
        return self.left.get(namespace)

    def fleeting_logs(self, limit: int) -> list[str]:
        return list(self.pods)[:limit]

    def _record(self, verb: str, namespace: str) -> None:
        self.calls.append((verb, namespace))
        if self.trouble:
            raise self.trouble


def _fresh(spec: PodSpec, phase: Phase) -> Observation:
    return Observation(
        namespace=spec.namespace,
        phase=phase,
        gateway_alive=True,
        revision=spec.config.revision,
        restarts=0,
        cause=None,
        message=None,
        evidence=[],
        since=None,
    )
