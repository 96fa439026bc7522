"""A runtime for measuring what runs before it: pods are ready as soon as they are asked for, and
every call is logged.
"""

from __future__ import annotations

import os
import time
from typing import ClassVar

from agents.runtimes.base import Endpoint, Observation, Phase, PodSpec, Usage

CALLS = "BENCHMARK_CALLS"  # the environment variable with the path of the log


def note(call: str, subject: str) -> None:
    """Log a call. One write per line, so that lines of several processes do not mix."""
    line = f"{call} {subject} {time.time()!r}\n".encode()
    file = os.open(os.environ[CALLS], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, line)
    finally:
        os.close(file)


class RecordingRuntime:
    pods: ClassVar[dict[str, Observation]] = {}

    def deploy(self, spec: PodSpec) -> None:
        note("deploy", spec.agent_id)
        self.pods[spec.namespace] = _ready(spec)

    def configure(self, spec: PodSpec) -> None:
        note("configure", spec.agent_id)
        self.pods[spec.namespace] = _ready(spec)

    def expect_data(self, spec: PodSpec) -> None:
        note("expect_data", spec.agent_id)

    def stop(self, namespace: str) -> None:
        note("stop", namespace)
        self.pods.pop(namespace, None)

    def delete(self, namespace: str, *, agent_id: str, data: bool) -> None:
        note("delete", agent_id)
        self.pods.pop(namespace, None)

    def observe(self, suffix: str | None = None) -> dict[str, Observation]:
        start = f"pod-{suffix}-" if suffix else ""
        return {namespace: pod for namespace, pod in self.pods.copy().items() if namespace.startswith(start)}

    def usage(self) -> dict[str, Usage]:
        return {namespace: Usage(memory_bytes=None, disk_bytes=None) for namespace in self.pods.copy()}

    def endpoint(self, namespace: str) -> Endpoint | None:
        nowhere = "http://127.0.0.1:9"
        return Endpoint(public_url=nowhere, management_url=nowhere) if namespace in self.pods else None


def _ready(spec: PodSpec) -> Observation:
    return Observation(
        namespace=spec.namespace,
        phase=Phase.READY,
        gateway_alive=True,
        revision=spec.config.revision,
        restarts=0,
        cause=None,
        message=None,
        evidence=[],
        since=None,
    )
