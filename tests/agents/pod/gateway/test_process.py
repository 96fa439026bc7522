"""How the gateway's process protects itself, and what others can read of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
import requests

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import (
    IDENTITY,
    KEY,
    LLM_TOKEN,
    MANAGEMENT_TOKEN,
    ROOT,
    TICKET_KEY,
    GatewayProcess,
)
from tests.doubles.bridge import TOKEN as BRIDGE_TOKEN
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.doubles.provider import ModelVendor

pytestmark = pytest.mark.unmeasured

ALL_SECRETS = [
    IDENTITY.key.splitlines()[1],
    KEY,
    MANAGEMENT_TOKEN,
    TICKET_KEY,
    LLM_TOKEN,
    BRIDGE_TOKEN,
    "dash-password-1",
    "a2a-token-1",
]


@pytest.fixture(scope="module")
def whole(_bridge: BridgeDouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """A process that is started as the runtime does it. Many tests share it, so each must leave it as it was."""
    gateway = GatewayProcess(
        {"whole": True, "bridge_url": _bridge.url, "llm_base_url": "", "run_dir": str(tmp_path_factory.mktemp("whole"))}
    )
    gateway.wait_until_up()
    yield gateway
    gateway.stop()


def _found(text: bytes) -> list[str]:
    return [secret for secret in ALL_SECRETS if secret.encode() in text]


def test_no_secret_is_in_arguments_environment_files_or_logs(
    start_gateway: StartGateway, provider: ModelVendor
) -> None:
    fresh = start_gateway(whole=True, dash_username="ada", dash_password="dash-password-1", a2a_token="a2a-token-1")
    provider.answer = lambda handler: handler.whole(401, f'{{"error": {{"message": "bad key {KEY}"}}}}'.encode())
    fresh.chat()
    fresh.call_model()
    fresh.call_model("/llm/openai/%2e%2e/" + KEY)
    fresh.ask("GET", "/health", token="wrong")
    requests.get(f"{fresh.public}/ticket?t={fresh.ticket()}", timeout=5)
    fresh.configure(soul="New.")
    process = Path(f"/proc/{fresh.pid}")
    readable = [(process / "cmdline").read_bytes(), (process / "environ").read_bytes()]
    readable += [path.read_bytes() for path in fresh.run_dir.rglob("*") if path.is_file()]
    assert [_found(text) for text in readable] == [[] for _ in readable]


# Runs a command with a plain user's rights. Root gives up its special rights for good.
PLAIN_USER = [
    sys.executable,
    "-c",
    """
import ctypes, os, sys
if os.getuid() == 0:
    libc = ctypes.CDLL(None)
    assert libc.prctl(28, 3, 0, 0, 0) == 0  # PR_SET_SECUREBITS: no capabilities by being root
    assert libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()) == 0
os.execvp(sys.argv[1], sys.argv[1:])
""",
]


def _can_read_environ(pid: int) -> bool:
    command = [*PLAIN_USER, "cat", f"/proc/{pid}/environ"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _can_follow_open_files(pid: int) -> bool:
    """Whether open files can be followed. The gateway loads its key from a file in memory, which could be opened so."""
    command = [*PLAIN_USER, "readlink", f"/proc/{pid}/fd/0"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_its_own_user_cannot_read_the_process(start_gateway: StartGateway) -> None:
    gateway = start_gateway(whole=True, prefix=PLAIN_USER)
    ordinary = subprocess.Popen([*PLAIN_USER, "sleep", "60"])
    try:
        while psutil.Process(ordinary.pid).name() != "sleep":
            time.sleep(0.01)
        assert _can_read_environ(ordinary.pid)
        assert not _can_read_environ(gateway.pid)
        assert _can_follow_open_files(ordinary.pid)
        assert not _can_follow_open_files(gateway.pid)
    finally:
        ordinary.kill()
        ordinary.wait()


def test_it_leaves_no_core(whole: GatewayProcess) -> None:
    limits = Path(f"/proc/{whole.pid}/limits").read_text()
    assert next(line.split()[4:6] for line in limits.splitlines() if line.startswith("Max core")) == ["0", "0"]


def test_the_start_document_cannot_be_read_a_second_time(whole: GatewayProcess) -> None:
    stdin = Path(f"/proc/{whole.pid}/fd/0")
    # Without root's rights, not even this link can be read.
    with contextlib.suppress(PermissionError):
        assert stdin.readlink() == Path(os.devnull)


def test_the_runtime_reads_the_revision_in_force_from_a_file(start_gateway: StartGateway) -> None:
    fresh = start_gateway(whole=True)
    path = fresh.run_dir / "gateway.json"
    certificate = fresh.start.identity.fingerprint
    assert json.loads(path.read_text()) == {"pid": fresh.pid, "revision": 1, "certificate": certificate}
    fresh.configure(soul="New.")
    assert json.loads(path.read_text())["revision"] == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_all_listeners_are_on_loopback(whole: GatewayProcess) -> None:
    ports = {whole.start.public_port, whole.start.management_port, whole.start.llm_port}
    listening = [(c.laddr.ip, c.laddr.port) for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr]
    assert sorted(address for address in listening if address[1] in ports) == sorted(
        ("127.0.0.1", port) for port in ports
    )


def test_in_a_cluster_the_key_proxy_alone_stays_on_loopback(start_gateway: StartGateway) -> None:
    start = start_gateway(whole=True, host="0.0.0.0").start
    listening = {c.laddr.port: c.laddr.ip for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr}
    ports = (start.public_port, start.management_port, start.llm_port)
    assert [listening[port] for port in ports] == ["0.0.0.0", "0.0.0.0", "127.0.0.1"]


def test_sigterm_ends_it_even_in_a_turn(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    fresh = start_gateway(whole=True)
    begun, released = threading.Event(), threading.Event()

    def hang(_: ReceivedTurn) -> Iterable[Event]:
        begun.set()
        released.wait(30)
        yield {"type": "done", "reply": "too late"}

    bridge.turn = hang
    asking = threading.Thread(target=_ask_in_vain, args=(fresh,))
    asking.start()
    assert begun.wait(10)
    fresh.signal(signal.SIGTERM)
    assert fresh.process.wait(20) == 0
    assert not released.is_set()
    released.set()
    asking.join()


def _ask_in_vain(gateway: GatewayProcess) -> None:
    with contextlib.suppress(requests.RequestException):
        gateway.chat("hello")


def test_it_ends_with_its_supervisor(start_gateway: StartGateway) -> None:
    supervisor = subprocess.Popen(["sleep", "60"])
    named = f"{supervisor.pid}:{psutil.Process(supervisor.pid).create_time()}"
    gateway = start_gateway(whole=True, environment={"AGENTPODS_SUPERVISOR": named})
    supervisor.kill()
    supervisor.wait()
    assert gateway.process.wait(15) == 0


def test_a_taken_port_has_an_exit_status_of_its_own(whole: GatewayProcess, tmp_path: Path) -> None:
    given = {"public_port": whole.start.public_port, "run_dir": str(tmp_path), "whole": True}
    second = GatewayProcess(given)
    assert second.process.wait(15) == 98
    assert "address already in use" in second.log


def test_a_start_document_that_is_not_there_is_named_as_the_cause(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agents.pod.gateway", f"--start={tmp_path / 'none.json'}"]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (2, b"gateway: unusable start document (FileNotFoundError)\n")


@pytest.mark.parametrize("document", [b"", b"{}", b"[]", f'{{"namespace": "{KEY}"}}'.encode()])
def test_an_unusable_start_document_is_refused_without_repeating_it(document: bytes) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agents.pod.gateway"], cwd=ROOT, input=document, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert KEY.encode() not in done.stderr
    assert b"unusable start document" in done.stderr


def test_a_ticket_from_before_the_gateways_start_is_not_taken(start_gateway: StartGateway) -> None:
    first = start_gateway()
    ticket = first.ticket()
    first.stop()
    time.sleep(1.1 - datetime.now(UTC).timestamp() % 1)
    again = start_gateway()
    assert requests.get(f"{again.public}/ticket?t={ticket}", timeout=5).status_code == 403
