"""A small world without findings: one running agent with everything that belongs to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.utils import timezone

from agents.models import Agent
from agents.runtimes.base import Endpoint
from tests.agents.conftest import MakeAgent, catalog, make_agent, owner, runtime, settle
from tests.agents.pod.bridge.process import eventually
from tests.crash import machine_state
from tests.crash.auditor import audit
from tests.crash.evidence import gather
from tests.crash.promises import Promise
from tests.doubles.receiver import ReceivedHook
from tests.doubles.runtime import ScriptedRuntime
from tests.ports import free_port
from webhooks import hooks, signing
from webhooks.models import Delivery, Event, State

__all__ = ["catalog", "make_agent", "owner", "runtime"]

# Listens on the given ports, starts the child process, and sleeps.
PROGRAM = """
import socket, subprocess, sys, time
held = [socket.create_server(("127.0.0.1", int(port))) for port in sys.argv[1].split(",") if port]
child = subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(300)"]) if sys.argv[2] == "engine" else None
time.sleep(300)
"""
PORTS = ("public_port", "management_port", "llm_port", "bridge_port")


class AuditedHome:
    def __init__(self, home: Path, agent: Agent, hook_secret: str) -> None:
        self.home, self.agent = home, agent
        self.receipts: list[ReceivedHook] = []
        self.promises = [Promise(agent.pk, "somebody", "/hook/a", hook_secret)]
        self.record = {name: free_port() for name in PORTS} | {"engine_port": free_port(), "side_port": free_port()}
        self._started: list[subprocess.Popen[bytes]] = []

    def complete(self) -> None:
        """Add the files and processes of the agent's pod, and its events at the receiver."""
        self.write_pod(self.agent.namespace, self.record)
        self.promise_port(self.agent.pk, self.record["public_port"])
        public, management, llm, bridge = (self.record[name] for name in PORTS)
        self.start("gateway", self.agent.namespace, ports=[public, management, llm])
        self.start("bridge", self.agent.namespace, ports=[bridge], engine=True)
        self.deliver()
        eventually(lambda: not self.audit(), within=20, what=f"a clean world, not {self.audit()}")

    def audit(self) -> list[str]:
        return audit(gather(self.home, promises=self.promises, receipts=self.receipts))

    def write_pod(self, namespace: str, record: dict[str, Any]) -> None:
        run_dir = self.home / "pods" / namespace
        run_dir.mkdir(parents=True)
        for name, body in {"pod": record, "state": {"revision": 1}, "gateway": {"revision": 1}}.items():
            (run_dir / f"{name}.json").write_text(json.dumps(body))

    def promise_port(self, agent_id: str, port: int) -> None:
        (self.home / "data" / agent_id).mkdir(parents=True, exist_ok=True)
        (self.home / "data" / f"{agent_id}.port").write_text(str(port))

    def start(self, role: str, namespace: str, *, ports: list[int] | None = None, engine: bool = False) -> int:
        """Start a process with the marks of a pod's program. Its engine is its child."""
        marks = {"AGENTPODS_HOME": str(self.home), "AGENTPODS_NAMESPACE": namespace, "AGENTPODS_ROLE": "engine"}
        words = [f"agents.pod.{role}", f"--namespace={namespace}", f"--home={self.home}"] if role != "engine" else []
        listening = ",".join(map(str, ports or []))
        command = [sys.executable, "-ISc", PROGRAM, listening, "engine" if engine else "", *words]
        self._started.append(subprocess.Popen(command, env=marks))
        return self._started[-1].pid

    def deliver(self) -> None:
        """Let every event arrive, or arrive again."""
        Delivery.objects.update(state=State.DELIVERED, finished_at=timezone.now())
        secret = self.promises[0].hook_secret
        for event in Event.objects.filter(agent=self.agent):
            body = event.body.encode()
            signed = signing.headers(
                event_id=event.pk, event_type=event.type, body=body, secret=secret, previous_secret=None
            )
            self.receipts.append(ReceivedHook("/hook/a", list(signed.items()), body, 0.0))

    def finds(self, *words: str) -> str:
        """Wait for a finding with all these words."""

        def look() -> str | None:
            return next((one for one in self.audit() if all(word in one for word in words)), None)

        found: str = eventually(look, within=10, what=f"a finding with {words} among {self.audit()}")
        return found

    def end(self, role: str) -> None:
        """Send SIGKILL to the pod's only process with this role."""
        (seen,) = (one for one in machine_state.pod_processes(self.home) if one.role == role)
        psutil.Process(seen.pid).kill()

    def close(self) -> None:
        for seen in machine_state.pod_processes(self.home):
            psutil.Process(seen.pid).kill()
        for process in self._started:
            process.kill()
            process.wait()


@pytest.fixture
def world(
    make_agent: MakeAgent, runtime: ScriptedRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AuditedHome]:
    agent = make_agent()
    secret = hooks.install(agent, url="http://receiver.example.com/hook/a", now=timezone.now())[1]
    world = AuditedHome(tmp_path, agent, secret)
    at = f"http://127.0.0.1:{world.record['public_port']}"
    runtime.addresses[agent.namespace] = Endpoint(public_url=at, management_url=at)
    world.agent = settle(agent)
    try:
        world.complete()
        yield world
    finally:
        world.close()
