"""Trouble that the test makes in real pods: each has its own cause, evidence and next call, and its own silent hop.

The pods run on the local runtime with the real gateway and bridge. The engine is pi's double, which calls a real model
server through the key proxy.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from rest_framework.test import APIClient

from agents.engines.pi import PI
from agents.models import Agent
from agents.pod import processes
from agents.running import reconciler
from agents.runtimes.local import LocalRuntime, programs
from agents.runtimes.local.programs import PodProgram
from tests.agents.conftest import PERSONA
from tests.agents.pod.bridge.process import eventually
from tests.doubles.model_server import ModelServer
from tests.doubles.npm_registry import BrokenRegistry
from tests.doubles.pi import install_double
from tests.doubles.small_disk import SmallDisk

pytestmark = pytest.mark.unmeasured

KEY = "sk-the-owners-own-key-4711"


class RealPod:
    """One agent of the owner in a real pod. Tests see it only through the API, and break things directly."""

    def __init__(self, client: APIClient, runtime: LocalRuntime) -> None:
        self.client = client
        self.runtime = runtime
        self.id = ""

    def create(self, **wanted: Any) -> None:
        answer = self.client.post("/agents", {"personaId": PERSONA, "tier": "tiny", **wanted}, format="json")
        assert answer.status_code == 200, answer.json()
        self.id = answer.json()["agent"]["id"]

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return self.client.generic(
            method, f"/agents/{self.id}{path}", json.dumps(body) if body else "", content_type="application/json"
        )

    def agent(self) -> Any:
        return self.call("GET", "").json()["agent"]

    def explain(self) -> Any:
        return self.call("GET", "/explain").json()["explanation"]

    def hops(self) -> dict[str, str | None]:
        """The hops of a talk test, each with its error."""
        answer = self.call("POST", "/talk-test")
        assert answer.status_code == 200, answer.json()
        return {hop["hop"]: hop["error"] for hop in answer.json()["talkTest"]["hops"]}

    def first_silent(self) -> tuple[str, str]:
        return next((hop, error) for hop, error in self.hops().items() if error)

    def until(self, seen: Callable[[], Any], *, what: str, within: float = 90) -> Any:
        """Reconcile until `seen` returns something."""

        def look() -> Any:
            reconciler.reconcile(self.id)
            return seen()

        return eventually(look, within=within, what=what, pause=0.25)

    def run(self, **wanted: Any) -> None:
        self.create(**wanted)
        self.until(lambda: self.agent()["status"] == "running", what="running")

    def until_cause(self, cause: str, **given: Any) -> Any:
        def found() -> Any:
            said = self.explain()
            return said if said["cause"] == cause else None

        return self.until(found, what=f"cause {cause}", **given)

    # How tests break things.

    @property
    def namespace(self) -> str:
        return Agent.objects.get(pk=self.id).namespace

    @property
    def data(self) -> Path:
        return self.runtime.home.data_dir(self.id)

    def program(self, name: PodProgram) -> psutil.Process:
        return programs.find(self.runtime.home.root)[self.namespace, name]

    def kill_engine(self) -> None:
        for process in processes.marked(self.namespace, self.runtime.home.root):
            os.kill(process.pid, signal.SIGKILL)

    def say(self, message: str) -> Any:
        return self.call("POST", "/chat", {"message": message, "sessionId": "talk"})


@pytest.fixture
def engine_cache(tmp_path: Path) -> Path:
    return install_double(tmp_path / "engines")


@pytest.fixture
def world(
    client: APIClient, engine_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Iterator[RealPod]:
    settings.LLM_KEY_CHECK = False
    runtime = LocalRuntime(home=(tmp_path / "home").resolve(), engine_cache=engine_cache)
    monkeypatch.setattr("agents.runtimes._driver", lambda name: runtime)
    world = RealPod(client, runtime)
    yield world
    for namespace in runtime.observe():
        runtime.delete(namespace, agent_id=world.id, data=False)


@pytest.fixture
def model(settings: Any) -> Iterator[ModelServer]:
    with ModelServer(key=KEY) as server:
        settings.LLM_BASE_URLS, settings.LLM_KEY_CHECK = server.base_urls(), True
        yield server


@pytest.fixture
def talking(world: RealPod, model: ModelServer) -> RealPod:
    """An agent that answers with the words of the model."""
    world.run(llmProvider="openai", llmKey=KEY)
    (world.data / "pi" / "ask-the-model").touch()
    assert world.say("hello").json()["reply"] == "pong"
    return world


@pytest.mark.slow
def test_an_agent_that_is_well_has_no_cause_and_no_silent_hop(talking: RealPod) -> None:
    found = talking.explain()
    assert (found["cause"], found["next"], found["evidence"]) == ("OK", None, [])
    assert set(talking.hops().values()) == {None}


class TestBadPackage:
    @pytest.fixture
    def engine_cache(self, tmp_path: Path) -> Path:
        return tmp_path / "nothing-installed"

    @pytest.mark.sampled
    def test_what_the_registry_hands_out_is_not_what_the_lock_says(
        self, world: RealPod, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with BrokenRegistry(json.loads(PI.package.lock.read_text())) as registry:
            monkeypatch.setenv("NPM_CONFIG_REGISTRY", registry.url)
            monkeypatch.setenv("NPM_CONFIG_FETCH_RETRIES", "0")  # otherwise npm would try for minutes
            world.create()
            world.until(lambda: world.agent()["status"] == "failed", what="failed", within=90)
            assert [name for name in registry.asked if name.endswith(".tgz")]
        found = world.explain()
        assert (found["cause"], found["next"]) == ("INSTALL", f"POST /agents/{world.id}/rebuild")
        assert any("EINTEGRITY" in line for line in found["evidence"])
        hop, error = world.first_silent()
        assert hop == "engine"
        assert error.startswith("INSTALL: npm failed")


@pytest.mark.sampled
def test_an_engine_that_ends_again_and_again_is_a_crash_loop_with_its_last_words_masked(world: RealPod) -> None:
    secret = "sk-secret-of-a-channel"  # the double prints this when it dies
    server = {"name": "crm", "url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": secret}}
    world.create(tools={"enabled": [], "mcpServers": [server]})
    (world.data / "pi").mkdir(parents=True)
    (world.data / "pi" / "die-at-start").touch()
    world.until(lambda: world.agent()["status"] == "failed", what="failed", within=90)
    found = world.explain()
    assert (found["cause"], found["next"]) == ("CRASH_LOOP", f"POST /agents/{world.id}/rebuild")
    assert any(line.startswith("fatal: told to die") for line in found["evidence"])
    assert secret not in str(found)
    hop, error = world.first_silent()
    assert (hop, error.partition(":")[0]) == ("engine", "CRASH_LOOP")
    (world.data / "pi" / "die-at-start").unlink()
    world.call("POST", "/rebuild")
    world.until(lambda: world.agent()["status"] == "running", what="running")


@contextlib.contextmanager
def taken(port: int) -> Iterator[None]:
    """Another program listens on this port, as soon as the port is free."""
    with contextlib.ExitStack() as stack:
        eventually(lambda: _listen(stack, port), what=f"port {port}")
        yield


def _listen(stack: contextlib.ExitStack, port: int) -> bool:
    with contextlib.suppress(OSError):
        stack.enter_context(socket.create_server(("127.0.0.1", port)))
        return True
    return False


@pytest.mark.slow
def test_a_port_that_another_program_took_is_named_for_an_agent_that_is_resumed(world: RealPod) -> None:
    world.run()
    port = urlsplit(world.agent()["endpointUrl"]).port
    assert port
    world.call("POST", "/pause")
    world.until(lambda: world.agent()["status"] == "stopped", what="stopped")
    with taken(port):
        world.call("POST", "/resume")
        found = world.until_cause("PORT")
        assert (found["status"], found["next"]) == ("provisioning", f"GET /agents/{world.id}")
        assert str(port) in found["evidence"][0]
        hop, error = world.first_silent()
        assert hop == "gateway"
        assert f"PORT: port {port} of the agent is taken" in error
    world.until(lambda: world.agent()["status"] == "running", what="running", within=90)


@pytest.mark.slow
def test_a_port_that_was_taken_while_the_gateway_was_down_is_named_for_a_running_agent(talking: RealPod) -> None:
    port = urlsplit(talking.agent()["endpointUrl"]).port
    assert port
    talking.program(PodProgram.GATEWAY).kill()
    with taken(port):
        found = talking.until_cause("PORT")
        assert (found["status"], found["next"]) == ("running", f"POST /agents/{talking.id}/rebuild")
        assert str(port) in found["evidence"][0]
        assert talking.first_silent()[0] == "gateway"
    talking.until_cause("OK", within=90)


@pytest.mark.sampled
def test_a_model_server_that_is_gone_is_unreachable_until_it_answers_again(
    talking: RealPod, model: ModelServer
) -> None:
    model.stop()
    assert talking.say("hello").status_code == 503
    found = talking.explain()
    assert (found["cause"], found["next"]) == ("MODEL_UNREACHABLE", f"POST /agents/{talking.id}/talk-test")
    assert "openai cannot be reached" in found["evidence"][0]
    hops = talking.hops()
    assert {hop for hop, error in hops.items() if error} == {"model"}
    assert hops["model"] == "openai cannot be reached"
    with ModelServer(port=model.port, key=KEY):
        assert set(talking.hops().values()) == {None}
        assert talking.explain()["cause"] == "OK"


@pytest.mark.sampled
def test_a_key_that_the_provider_refuses_is_named_until_there_is_another(talking: RealPod, model: ModelServer) -> None:
    model.key = "sk-the-only-good-key-0815"
    assert talking.say("hello").status_code == 503
    found = talking.explain()
    assert (found["cause"], found["next"]) == ("MODEL_KEY_REFUSED", f"PATCH /agents/{talking.id}/llm-key")
    assert "refused the model key (401): Incorrect API key provided" in found["evidence"][0]
    assert KEY not in str(found)
    hop, error = talking.first_silent()
    assert (hop, "refused the model key" in error) == ("model", True)
    talking.call("PATCH", "/llm-key", {"provider": "openai", "key": model.key})
    talking.until_cause("OK")
    assert set(talking.hops().values()) == {None}


@pytest.fixture
def disk(world: RealPod, model: ModelServer) -> Iterator[SmallDisk]:
    """A small disk with the data of an agent that answers."""
    world.create(llmProvider="openai", llmKey=KEY)
    disk = SmallDisk(world.data)
    try:
        world.until(lambda: world.agent()["status"] == "running", what="running")
        assert world.say("say well").json()["reply"] == "well"
        yield disk
    finally:
        for namespace in world.runtime.observe():
            world.runtime.delete(namespace, agent_id=world.id, data=False)
        disk.close()


@pytest.mark.sampled
def test_a_full_disk_is_the_engines_silence_and_not_the_models(world: RealPod, disk: SmallDisk) -> None:
    disk.fill()
    answer = world.say(f"say {'more ' * 2000}")
    assert (answer.status_code, answer.json()["message"].startswith("engine: ENOSPC")) == (503, True), answer.json()
    found = world.until_cause("DISK_FULL")
    assert (found["status"], found["next"]) == ("running", f"PATCH /agents/{world.id}")
    # The words come from the engine, the system or the bridge, whichever saw it first.
    seen = [found["message"], *found["evidence"]]
    assert any(
        word in line for line in seen for word in ("ENOSPC", "No space left", "disk of the agent's data is full")
    ), found
    world.kill_engine()  # now the engine cannot even start again
    world.until(lambda: world.explain()["message"].startswith("No space left"), what="the start that failed")
    assert world.explain()["cause"] == "DISK_FULL"
    hop, error = world.first_silent()
    assert (hop, error.partition(":")[0]) == ("engine", "DISK_FULL")
    disk.clear()
    world.until_cause("OK", within=90)
    assert world.say("say again").json()["reply"] == "again"


@pytest.mark.slow
def test_an_engine_that_takes_more_memory_than_it_has_is_out_of_memory(talking: RealPod) -> None:
    (talking.data / "pi" / "ask-the-model").unlink()
    assert talking.say("hog").status_code == 503
    found = talking.until_cause("OOM")
    assert found["next"] == f"PATCH /agents/{talking.id}"
    assert any("heap out of memory" in line for line in found["evidence"])
    assert talking.first_silent()[0] == "engine"


@pytest.mark.slow
def test_data_that_is_gone_is_told_and_a_rebuild_begins_anew(talking: RealPod) -> None:
    talking.call("POST", "/pause")
    talking.until(lambda: talking.agent()["status"] == "stopped", what="stopped")
    shutil.rmtree(talking.data)
    talking.call("POST", "/resume")
    talking.until(lambda: talking.agent()["status"] == "failed", what="failed")
    found = talking.explain()
    assert (found["cause"], found["next"]) == ("DATA_LOST", f"POST /agents/{talking.id}/rebuild")
    assert "the agent's disk is empty" in found["message"]
    assert list(talking.data.iterdir()) == []
    talking.until(lambda: talking.first_silent()[0] == "engine", what="the gateway, which may start a moment later")
    assert talking.first_silent() == ("engine", f"DATA_LOST: {found['message']}")
    talking.call("POST", "/rebuild")
    talking.until(lambda: talking.agent()["status"] == "running", what="running")
    assert talking.say("count").json()["reply"] == "0"
