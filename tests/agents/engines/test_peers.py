"""An agent asks its peer and gets the answer, with two real pods. Each engine is tried as the asking one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from agents.engines import ENGINES
from agents.engines.base import Engine
from agents.runtimes.local import LocalRuntime
from tests.agents.engines.conftest import EnginePod, those
from tests.agents.engines.expectations import expected
from tests.doubles.model_protocols import ToolCall
from tests.doubles.model_server import ModelServer

pytestmark = pytest.mark.engines


@pytest.fixture(params=those(lambda known: known.takes_servers))
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


BOB_TOKEN = "token-of-bob-0123456789"
LOOPBACK = ["127.0.0.0/8"]


@pytest.fixture
def bob(model: ModelServer, tmp_path: Path) -> Iterator[EnginePod]:
    """Bob: an agent with the engine pi, which other agents may ask."""
    home = (tmp_path / "bob").resolve()
    runtime = LocalRuntime(home=home, engine_cache=settings.ENGINE_CACHE)
    bob = EnginePod(ENGINES["pi"], runtime, model, home)
    bob.spec = dataclasses.replace(bob.spec, secrets=dataclasses.replace(bob.spec.secrets, a2a_token=BOB_TOKEN))
    bob.start(a2a_enabled=True, soul="You are Bob, who knows boats.")
    yield bob
    runtime.delete(bob.namespace, agent_id="agt_real", data=True)


def address(pod: EnginePod) -> str:
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    return f"{endpoint.public_url}/a2a"


def know(pod: EnginePod, *peers: dict[str, Any]) -> None:
    """Put these peers into the next configuration of the gateway."""
    secrets = dataclasses.replace(pod.spec.secrets, a2a_peers=list(peers), peer_networks=LOOPBACK)
    pod.spec = dataclasses.replace(pod.spec, secrets=secrets)


def tools(pod: EnginePod) -> dict[str, str]:
    return {name: expected(pod).mcp.format(server="a2a", tool=name) for name in ("list_peers", "send_message")}


def ask(pod: EnginePod, tool: str, arguments: dict[str, Any]) -> str:
    """The model of this pod calls the tool, and the peer's model answers. Returns the request with the result."""
    pod.model.tool_calls = [ToolCall(tool, arguments)]
    assert pod.say("use it") == "pong"
    assert pod.model.tool_calls == [], f"{tool} was not offered: {pod.model.turns()[-1].tools}"
    return json.dumps(pod.model.turns()[-1].body)


def test_an_agent_asks_its_peer_and_gets_the_answer(pod: EnginePod, bob: EnginePod) -> None:
    know(pod, {"name": "bob", "url": address(bob), "token": BOB_TOKEN})
    pod.start(a2a_enabled=True, has_peers=True)
    names = tools(pod)
    assert "answers messages in text" in ask(pod, names["list_peers"], {})
    heard = ask(pod, names["send_message"], {"peer": "bob", "message": "Which boat?"})
    assert "completed" in heard
    assert "pong" in heard
    # The peer's own engine was asked, and has the question in its own files.
    assert "Which boat?" in bob.session_text()
    assert "who knows boats" in json.dumps([turn.body for turn in pod.model.turns()])
    for process in pod.engine_processes():
        assert BOB_TOKEN.encode() not in Path(f"/proc/{process.pid}/environ").read_bytes()
    written = [path for path in pod.home.rglob("*") if path.is_file() and BOB_TOKEN in path.read_text("latin-1")]
    assert written == []


def test_peers_that_change_do_not_restart_the_engine(pod: EnginePod, bob: EnginePod) -> None:
    know(pod, {"name": "robert", "url": address(bob), "token": "wrong"})
    pod.start(a2a_enabled=True, has_peers=True)
    send = tools(pod)["send_message"]
    assert "refused our token" in ask(pod, send, {"peer": "robert", "message": "hi"})
    before = {process.pid for process in pod.engine_processes()}
    know(pod, {"name": "bob", "url": address(bob), "token": BOB_TOKEN})
    assert pod.change() < 5
    assert {process.pid for process in pod.engine_processes()} == before
    assert "completed" in ask(pod, send, {"peer": "bob", "message": "hi again"})


def test_without_peers_no_tool_of_them_is_offered(pod: EnginePod, bob: EnginePod) -> None:
    pod.start(a2a_enabled=True)
    pod.say("hello")
    offered = pod.model.turns()[-1].tools
    assert not set(tools(pod).values()) & offered
    know(pod, {"name": "bob", "url": address(bob), "token": BOB_TOKEN})
    pod.change(has_peers=True)
    pod.say("hello again")
    assert pod.model.turns()[-1].tools - offered == set(tools(pod).values())
