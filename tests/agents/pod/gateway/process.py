"""Gateways of the product for tests, and calls of their three listeners."""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests

from agents.pod import tickets
from agents.pod.start import GatewayStart
from agents.runtimes import certificates
from agents.runtimes.base import Access, PodConfig, PodSecrets
from tests.agents.pod import forking
from tests.agents.pod.gateway.inside import GatewayInProcess
from tests.doubles.bridge import TOKEN as BRIDGE_TOKEN
from tests.patience import Patience

ROOT = Path(__file__).resolve().parents[4]
START_SECONDS = 20
NAMESPACE = "pod-0123456789abcdef-1"
KEY = "sk-real-0123456789abcdefghijkl"
LLM_TOKEN = "pod-llm-token-0123456789"
MANAGEMENT_TOKEN = "management-token-0123456789"
TICKET_KEY = "ticket-key-0123456789"
IDENTITY = certificates.make()
CONSOLE = "https://console.example"

CONFIG = PodConfig(
    revision=1,
    soul="Be kind.",
    extra_soul=None,
    lang="en",
    timezone=None,
    name="Ada",
    provider="openai",
    model="gpt-5",
    toolsets=[],
    mcp_servers=[],
    channels=["web"],
    channel_secrets={},
    a2a_enabled=False,
)
SECRETS = PodSecrets(
    management_token=MANAGEMENT_TOKEN,
    ticket_key=TICKET_KEY,
    llm_key=KEY,
    llm_base_url=None,
    dash_username=None,
    dash_password=None,
    a2a_token=None,
)


def _inherited() -> dict[str, str]:
    """The variables that the runtime passes on, and those that measure coverage in child processes."""
    return {name: value for name, value in os.environ.items() if name == "PATH" or name.startswith("COVERAGE_")}


def free_ports(count: int) -> list[int]:
    holders = [socket.socket() for _ in range(count)]
    try:
        for holder in holders:
            holder.bind(("127.0.0.1", 0))
        return [holder.getsockname()[1] for holder in holders]
    finally:
        for holder in holders:
            holder.close()


class GatewayProcess:
    """A gateway process. `given` overrides any field of the start document, its config or its secrets.

    The process is copied from one that has already imported the gateway (tests/agents/pod/forking.py). Tests about the
    process itself use `whole=True`: then it is started as the runtime does it. With `inside=True` there is no process
    (tests/agents/pod/gateway/inside.py).
    """

    process: subprocess.Popen[bytes] | forking.Forked | GatewayInProcess

    def __init__(self, given: dict[str, Any]) -> None:
        environment, prefix = given.pop("environment", {}), given.pop("prefix", [])
        whole, inside = given.pop("whole", False), given.pop("inside", False)
        self.start = document(given)
        self.run_dir = Path(self.start.run_dir)
        self.log_path = self.run_dir / "gateway.log"
        if whole or prefix:
            self.process = self._run(environment, prefix)
        elif inside:
            self.process = GatewayInProcess(self.start.dump(), self.log_path)
        else:
            with self.log_path.open("ab") as out:
                self.process = forking.start("gateway", {**_inherited(), **environment}, self.start.dump(), out)

    def _run(self, environment: dict[str, str], prefix: list[str]) -> subprocess.Popen[bytes]:
        with self.log_path.open("ab") as out:
            process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "agents.pod.gateway"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                env={**_inherited(), **environment},
                start_new_session=True,
            )
        assert process.stdin is not None
        process.stdin.write(self.start.dump())
        process.stdin.close()
        return process

    def wait_until_up(self) -> None:
        patience = Patience(START_SECONDS)
        while not patience.ended():
            try:
                requests.get(f"{self.public}/healthz", timeout=1)
            except (requests.ConnectionError, requests.Timeout):
                assert self.process.poll() is None, self.log
                time.sleep(0.05)
            else:
                return
        raise AssertionError(f"the gateway did not come up: {self.log}")

    @property
    def pid(self) -> int:
        assert not isinstance(self.process, GatewayInProcess), "it needs a process of its own"
        return self.process.pid

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    @property
    def public(self) -> str:
        return f"http://127.0.0.1:{self.start.public_port}"

    @property
    def management(self) -> str:
        return f"https://127.0.0.1:{self.start.management_port}"

    @property
    def access(self) -> Access:
        return Access(token=self.start.secrets.management_token, certificate=self.start.identity.certificate)

    @property
    def llm(self) -> str:
        return f"http://127.0.0.1:{self.start.llm_port}"

    def ask(self, method: str, path: str, token: str = MANAGEMENT_TOKEN, **given: Any) -> requests.Response:
        """Call the management listener."""
        headers = {"Authorization": f"Bearer {token}", **given.pop("headers", {})}
        given.setdefault("timeout", 30)
        return self.control_plane().request(method, self.management + path, headers=headers, **given)

    def control_plane(self) -> requests.Session:
        """A session that the management listener accepts, as the control plane has it."""
        return certificates.session(self.access.certificate)

    def look(self) -> None:
        """Let the gateway read the engine's state now."""
        self.ask("GET", "/health")

    def chat(self, message: str = "hi", session_id: str | None = None) -> requests.Response:
        named = {"session_id": session_id} if session_id else {}
        return self.ask("POST", "/chat", json={"message": message, **named})

    def configure(self, **given: Any) -> requests.Response:
        """Send the next revision to `PUT /config`, with some fields changed."""
        revision = given.pop("revision", self.start.config.revision + 1)
        self.start = _changed(self.start, {**given, "revision": revision})
        body = {"config": dataclasses.asdict(self.start.config), "secrets": dataclasses.asdict(self.start.secrets)}
        return self.ask("PUT", "/config", json=body)

    def call_model(self, path: str = "/llm/openai/v1/responses", **given: Any) -> requests.Response:
        """Call the model as the engine does, with the pod's own token."""
        method = given.pop("method", "POST")
        headers = {"Authorization": f"Bearer {LLM_TOKEN}", **given.pop("headers", {})}
        body = {"json": {"model": "gpt-5", "stream": True}} if method == "POST" and "data" not in given else {}
        given.setdefault("timeout", 30)
        return requests.request(method, self.llm + path, headers=headers, allow_redirects=False, **{**body, **given})

    def visitor(self, *, signed_in: bool = True) -> requests.Session:
        """A browser's session at the public listener."""
        session = requests.Session()
        session.headers.update({"Accept": "text/html", "Origin": self.public})
        if signed_in:
            answer = session.get(f"{self.public}/ticket", params={"t": self.ticket()}, timeout=10)
            assert answer.status_code == 200, answer.text
        return session

    def ticket(self) -> str:
        return tickets.mint(TICKET_KEY, NAMESPACE, datetime.now(UTC))


def document(given: dict[str, Any]) -> GatewayStart:
    public, management, llm = free_ports(3)
    start = GatewayStart(
        namespace=NAMESPACE,
        agent_id="agt_0123456789abcdef01234567",
        slug="ada-abc123",
        engine="pi",
        public_url=None,
        console_url=CONSOLE,
        run_dir="",
        host="127.0.0.1",
        public_port=public,
        management_port=management,
        llm_port=llm,
        bridge_url="",
        bridge_token=BRIDGE_TOKEN,
        llm_token=LLM_TOKEN,
        engine_url="",
        engine_password="",
        identity=IDENTITY,
        config=CONFIG,
        secrets=SECRETS,
    )
    return _changed(start, given)


def _changed(start: GatewayStart, given: dict[str, Any]) -> GatewayStart:
    def part(names: set[str]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if name in names}

    config = dataclasses.replace(start.config, **part({field.name for field in dataclasses.fields(PodConfig)}))
    secrets = dataclasses.replace(start.secrets, **part({field.name for field in dataclasses.fields(PodSecrets)}))
    own = {field.name for field in dataclasses.fields(GatewayStart)}
    return dataclasses.replace(start, config=config, secrets=secrets, **part(own))
