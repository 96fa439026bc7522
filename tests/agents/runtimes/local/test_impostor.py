"""An engine runs as the same user as its gateway. It can kill the gateway and take its ports, but learns no secret."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.pod import processes
from agents.pod.gateway.tls import server_context
from agents.pod.turns.failures import HopFailure
from agents.runtimes import certificates, management
from agents.runtimes.base import Endpoint, Identity, Phase, RuntimeFailure
from agents.runtimes.local import LocalRuntime, programs
from agents.runtimes.local.programs import PodProgram
from tests.agents.clusters import ground
from tests.agents.clusters.test_flow import ApiOwner
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes.conftest import ACCESS, NAMESPACE, REAL_KEY, pod_spec, wait_for
from tests.agents.runtimes.local.conftest import program, say
from tests.doubles.impostor import Impostor

# A gateway of a release without certificates: its name, its ports and its report, as the runtime sees them.
OLD_GATEWAY = """
import http.server, json, os, sys, threading, time
start = json.load(sys.stdin)
servers = [http.server.HTTPServer(("127.0.0.1", start[name]), http.server.BaseHTTPRequestHandler)
           for name in ("public_port", "management_port", "llm_port")]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()
while True:
    path = os.path.join(start["run_dir"], "gateway.json")
    with open(path + ".tmp", "w") as report:
        json.dump({"pid": os.getpid(), "revision": 1}, report)
    os.replace(path + ".tmp", path)
    time.sleep(0.2)
"""
LISTEN = "import socket, sys, time; held = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(600)"


def endpoint_of(runtime: LocalRuntime, namespace: str = NAMESPACE) -> Endpoint:
    endpoint = runtime.endpoint(namespace)
    assert endpoint
    return endpoint


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


def kill_gateway(home: Path, namespace: str = NAMESPACE) -> None:
    gateway = programs.find(home)[namespace, PodProgram.GATEWAY]
    gateway.kill()
    psutil.wait_procs([gateway], timeout=10)


@contextlib.contextmanager
def in_its_place(home: Path, port: int, namespace: str = NAMESPACE) -> Iterator[Impostor]:
    """Kill the gateway and take its port at once, as a hostile engine would."""
    kill_gateway(home, namespace)

    def taken() -> Impostor | None:
        with contextlib.suppress(OSError):
            return Impostor(port)
        return None

    with eventually(taken, within=5, what="the gateway's port") as impostor:
        yield impostor


@pytest.mark.sampled
def test_an_impostor_of_a_killed_gateway_is_told_nothing_and_the_agent_comes_back(
    ready: LocalRuntime, home: Path
) -> None:
    say(ready, "say x")
    endpoint = endpoint_of(ready)
    with in_its_place(home, port_of(endpoint.management_url)) as impostor:
        with pytest.raises(HopFailure) as failure:
            say(ready, "say what nobody else may know")
        assert failure.value.hop == "gateway"
        with pytest.raises(HopFailure):
            management.health(endpoint, ACCESS)
        # An impostor would report revision 0, and then get the whole configuration again.
        with pytest.raises(RuntimeFailure):
            ready.configure(pod_spec(revision=2))
        assert impostor.calls == 3
        assert b"Bearer" not in impostor.told
        assert b"nobody else" not in impostor.told
        assert b"HTTP/1" not in impostor.told
        ready.deploy(pod_spec())
        wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.gateway_alive)
        assert say(ready, "count") == "1"
        assert impostor.calls == 3


@pytest.mark.sampled
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("shows", [None, certificates.make()], ids=["plain", "another certificate"])
def test_the_owner_is_told_which_hop_is_silent_and_the_reconciler_brings_the_gateway_back(
    client: APIClient,
    local: LocalRuntime,
    home: Path,
    shows: Identity | None,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:
    settings.LLM_KEY_CHECK = False
    monkeypatch.setattr("agents.runtimes._driver", lambda _: local)
    with ground.reconciling():
        owner = ApiOwner(client)
        owner.until("running")
    assert owner.say("say hello") == "hello"
    agent = owner.row()
    port = port_of(endpoint_of(local, agent.namespace).management_url)
    with in_its_place(home, port, agent.namespace) as impostor:
        impostor.context = server_context(shows) if shows else None
        answer = client.post(f"{owner.path}/chat", {"message": "between us alone"}, format="json")
        assert (answer.status_code, answer.json()["error"]) == (503, "INTERNAL")
        assert answer.json()["message"].startswith("gateway: ")
        with ground.reconciling():
            # A new revision is only sent to a program that proves to be the gateway.
            assert client.patch(owner.path, {"name": "Another name"}, format="json").status_code == 200
            eventually(lambda: local.observe()[agent.namespace].revision == 2, within=60, what="the gateway")
        for secret in (agent.management_token, agent.ticket_key, REAL_KEY, "between us"):
            assert secret.encode() not in impostor.told
    assert owner.say("count") == "1"
    after = owner.row()
    assert (after.status, after.namespace) == ("running", agent.namespace)


@pytest.mark.sampled
def test_an_engine_on_the_public_port_of_its_gateway_ends_and_the_agent_comes_back(
    ready: LocalRuntime, home: Path
) -> None:
    say(ready, "say x")
    port = port_of(endpoint_of(ready).public_url)
    kill_gateway(home)
    marks = processes.marks(NAMESPACE, home, processes.ENGINE)
    engine = subprocess.Popen([sys.executable, "-c", LISTEN, str(port)], env={**os.environ, **marks})
    eventually(lambda: processes.listen([psutil.Process(engine.pid)], port), what="the engine on the public port")
    ready.deploy(pod_spec())
    wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.gateway_alive)
    assert engine.wait(5) != 0
    assert port_of(endpoint_of(ready).public_url) == port
    assert say(ready, "count") == "1"


@pytest.fixture
def old(ready: LocalRuntime, home: Path, tmp_path: Path) -> Iterator[LocalRuntime]:
    """A pod whose gateway still runs from a release without certificates."""
    say(ready, "say x")
    record = ready.home.record(NAMESPACE)
    assert record
    kill_gateway(home)
    source = tmp_path / "release" / "agents" / "pod" / "gateway"
    source.mkdir(parents=True)
    (source / "__main__.py").write_text(OLD_GATEWAY)
    run_dir = ready.home.run_dir(NAMESPACE)
    command = [sys.executable, "-m", "agents.pod.gateway", *processes.program_arguments(NAMESPACE, home)]
    process = subprocess.Popen(command, cwd=tmp_path / "release", stdin=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(json.dumps({**dataclasses.asdict(record), "run_dir": str(run_dir)}).encode())
    process.stdin.close()
    reports = (run_dir / programs.REPORTS[PodProgram.GATEWAY]).read_text
    eventually(lambda: f'"pid": {process.pid}' in reports(), what="the report of the old gateway")
    yield ready
    process.kill()
    process.wait()


@pytest.mark.sampled
def test_a_gateway_of_a_release_without_certificates_is_replaced_and_the_engine_stays(
    old: LocalRuntime, home: Path
) -> None:
    gateway, bridge = program(home, PodProgram.GATEWAY), program(home, PodProgram.BRIDGE)
    pod = old.observe()[NAMESPACE]
    assert (pod.phase, pod.gateway_alive, pod.cause) == (Phase.UNHEALTHY, False, "GATEWAY_OUTDATED")
    with pytest.raises(HopFailure):
        say(old, "say x")
    with pytest.raises(RuntimeFailure):
        old.configure(pod_spec(revision=2))
    old.deploy(pod_spec())
    pod = wait_for(old, lambda pod: pod.phase == Phase.READY and pod.gateway_alive)
    assert pod.cause is None
    assert program(home, PodProgram.GATEWAY) != gateway
    assert program(home, PodProgram.BRIDGE) == bridge
    assert say(old, "count") == "1"


def test_a_gateway_that_runs_as_wanted_is_not_replaced(ready: LocalRuntime, home: Path) -> None:
    gateway = program(home, PodProgram.GATEWAY)
    eventually(lambda: ready.observe()[NAMESPACE].gateway_alive, what="the gateway's report")
    ready.deploy(pod_spec())
    assert program(home, PodProgram.GATEWAY) == gateway


def test_the_private_key_is_in_no_file_argument_environment_or_open_file(ready: LocalRuntime, home: Path) -> None:
    key = pod_spec().identity.key.splitlines()[1].encode()
    gateway = Path(f"/proc/{program(home, PodProgram.GATEWAY).pid}")
    for name in ("environ", "cmdline"):
        with contextlib.suppress(PermissionError):  # only root may read these files
            assert key not in (gateway / name).read_bytes()
    with contextlib.suppress(PermissionError):
        assert not [link for link in (gateway / "fd").iterdir() if "memfd" in str(link.readlink())]
    assert not [path for path in home.rglob("*") if path.is_file() and key in path.read_bytes()]
