"""A real bridge process on directories of its own. Tests talk to it as its gateway would."""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import psutil

from agents.engines.pi import PI
from agents.pod import processes
from agents.pod.start import BridgeStart
from agents.runtimes.base import PodConfig
from tests.agents.pod import forking
from tests.doubles.pi import KNOWN_MODEL
from tests.patience import Patience
from tests.ports import free_port

NAMESPACE = "pod-test-1"
TOKEN = "bridge-token-for-tests"
LLM_TOKEN = "pod-llm-token-for-tests"
ROOT = Path(__file__).resolve().parents[4]


def pod_config(**changes: Any) -> PodConfig:
    usual: dict[str, Any] = {
        "revision": 1,
        "soul": "You are a lighthouse keeper.",
        "extra_soul": None,
        "lang": "en",
        "timezone": None,
        "name": "Keeper",
        "provider": "openai",
        "model": KNOWN_MODEL,
        "toolsets": [],
        "mcp_servers": [],
        "channels": ["web"],
        "channel_secrets": {},
        "a2a_enabled": False,
    }
    return PodConfig(**{**usual, **changes})


def eventually(seen: Callable[[], Any], *, within: float = 20.0, what: str = "it", pause: float = 0.1) -> Any:
    """The first truthy value of `seen`, which is called again and again. `within` and `pause` are seconds."""
    patience = Patience(within)
    while True:
        if found := seen():
            return found
        assert not patience.ended(), f"{what} did not come within {within} s"
        time.sleep(pause)


def is_up(pid: int) -> bool:
    """Whether the process runs. A zombie, whose parent has not yet asked for its end, does not run."""
    try:
        return processes.is_alive(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


class BridgeProcess:
    """A bridge process. Unless it is `whole`, it is copied from a process that has already imported it (forking.py)."""

    def __init__(
        self, home: Path, cache: Path, *, environment: dict[str, str] | None = None, whole: bool = False
    ) -> None:
        self.home = home
        self.whole = whole
        self.run_dir = home / "pods" / NAMESPACE
        self.data = home / "data" / "agt_test"
        self.run_dir.mkdir(parents=True, exist_ok=True)
        self.cache = cache
        self._environment = environment or {}
        self.port = free_port()
        self.engine_port = free_port()
        self.process: subprocess.Popen[bytes] | forking.Forked | None = None

    def start(
        self,
        config: PodConfig | None = None,
        *,
        memory_bytes: int = 512 * 2**20,
        engine: str = PI.id,
        node: str = "",
        document: Path | None = None,
        data_expected: bool = False,
    ) -> None:
        """Start the bridge. With `document`, it starts from that file, as in a cluster."""
        start = BridgeStart(
            namespace=NAMESPACE,
            agent_id="agt_test",
            engine=engine,
            run_dir=str(self.run_dir),
            data_dir=str(self.data),
            data_expected=data_expected,
            engine_cache=str(self.cache),
            node=node,
            memory_bytes=memory_bytes,
            host="127.0.0.1",
            port=self.port,
            token=TOKEN,
            llm_url="http://127.0.0.1:9",
            llm_token=LLM_TOKEN,
            engine_port=self.engine_port,
            engine_password="engine-password-for-tests",
            config=config or pod_config(),
        )
        if document:
            document.write_bytes(start.dump())
        arguments = [*([f"--start={document}"] if document else []), *processes.program_arguments(NAMESPACE, self.home)]
        self.process = self._run(arguments, b"" if document else start.dump())

    def _run(self, arguments: list[str], stdin: bytes) -> subprocess.Popen[bytes] | forking.Forked:
        environment = {
            "PATH": os.environ["PATH"],
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
            "HOME": str(self.home),
            "INHERITED_BY_THE_BRIDGE": "yes",
            **processes.marks(NAMESPACE, self.home, "bridge"),
            **self._environment,
        }
        with (self.run_dir / "bridge.log").open("ab") as log:
            if not self.whole:
                return forking.start("bridge", environment, stdin, log, arguments)
            process = subprocess.Popen(
                [sys.executable, "-m", "agents.pod.bridge", *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=environment,
                start_new_session=True,
            )
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        return process

    # Requests to the bridge.

    def state(self) -> dict[str, Any] | None:
        try:
            status, body = self._call("GET", "/state")
        except OSError:
            return None
        return body if status == 200 else None

    def channels(self) -> dict[str, str | None]:
        channels: dict[str, str | None] = self._call("GET", "/channels")[1]["channels"]
        return channels

    def bring(self, message: dict[str, Any]) -> tuple[int, Any]:
        return self._call("PUT", "/message", message)

    def unsaid(self) -> str | None:
        """The reason why the engine itself reported nothing about its channels."""
        unsaid: str | None = self._call("GET", "/channels")[1]["unsaid"]
        return unsaid

    def wait_for(self, phase: str, *, within: float = 20.0) -> dict[str, Any]:
        def seen() -> dict[str, Any] | None:
            state = self.state()
            return state if state and state["phase"] == phase else None

        found: dict[str, Any] = eventually(seen, within=within, what=f"phase {phase}")
        return found

    def configure(self, config: PodConfig) -> None:
        status, _ = self._call("PUT", "/config", dataclasses.asdict(config))
        assert status == 202
        eventually(lambda: (self.state() or {}).get("revision") == config.revision, what="the revision")

    def turn(self, message: str, session: str = "s1") -> dict[str, Any]:
        """Run a turn. Returns its last event."""
        return list(self.events(message, session))[-1]

    def reply(self, message: str, session: str = "s1") -> str:
        event = self.turn(message, session)
        assert event["type"] == "done", event
        return str(event["reply"])

    def events(self, message: str, session: str = "s1") -> Generator[dict[str, Any], None, None]:
        connection, response = self.ask("POST", "/turn", {"session_id": session, "message": message})
        try:
            assert response.status == 200, response.read()
            for line in response:
                yield json.loads(line)
        finally:
            connection.close()

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str = TOKEN
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(
            method, path, json.dumps(body) if body is not None else None, {"Authorization": f"Bearer {token}"}
        )
        return connection, connection.getresponse()

    def status_of(self, method: str, path: str, body: Any = None, *, token: str = TOKEN) -> int:
        connection, response = self.ask(method, path, body, token=token)
        connection.close()
        return response.status

    def _call(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        connection, response = self.ask(method, path, body)
        try:
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    # Looking at its processes.

    def engines(self) -> list[psutil.Process]:
        """All live processes with the engine's mark, that is: all processes that the engine started."""
        return processes.marked(NAMESPACE, self.home)

    def engine_pid(self) -> int:
        state = self.state()
        assert state
        return int(state["enginePid"])

    def kill_engine(self, number: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.engine_pid(), number)

    def log(self) -> str:
        return (self.run_dir / "bridge.log").read_text(errors="replace")

    def end(self, number: signal.Signals = signal.SIGTERM, *, within: float = 20.0) -> int:
        """Send a signal to the bridge. Returns its exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(within)

    def _end_or_kill(self, process: subprocess.Popen[bytes] | forking.Forked) -> None:
        """End the process in good order if possible, so that its coverage is measured."""
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)

    def clear_away(self) -> None:
        if self.process and self.process.poll() is None:
            self._end_or_kill(self.process)
        assert not processes.kill_all(self.engines, seconds=10)
