"""Customers' real MCP servers with each real engine: offered to the model, called by it, and removed while it runs."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine
from agents.runtimes.local.programs import PodProgram
from tests.agents.engines.conftest import TRIED, EnginePod, those
from tests.agents.engines.expectations import WITHOUT_TOOLS, expected
from tests.agents.pod.bridge.process import eventually
from tests.doubles import mcp_stdio, mcp_tools
from tests.doubles.mcp_http import McpHttpServer
from tests.doubles.model_protocols import ToolCall
from tests.ports import free_port

pytestmark = [pytest.mark.engines, pytest.mark.anywhere]


@pytest.fixture(params=those(lambda known: known.takes_servers))
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


# For the other engines, the API refuses a `command`.
with_stdio = pytest.mark.parametrize(
    "engine", [engine_id for engine_id in TRIED if ENGINES[engine_id].mcp_stdio], indirect=True
)
HEADERS = {"x-crm-key": "key-of-the-customers-crm"}


@pytest.fixture
def crm() -> Iterator[McpHttpServer]:
    with McpHttpServer(require=HEADERS, page=3) as server:
        yield server


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "mcp.jsonl"


def tool(pod: EnginePod, server: str, name: str) -> str:
    return expected(pod).mcp.format(server=server, tool=name)


def tools_of(pod: EnginePod, server: str) -> set[str]:
    prefix = tool(pod, server, "")
    return {name for name in pod.model.turns()[-1].tools if name.startswith(prefix)}


def ask(pod: EnginePod, call: str, arguments: dict[str, Any], session: str = "talk") -> str:
    """The model calls this tool. Returns the text of the request that brings the tool's result to the model."""
    pod.model.tool_calls = [ToolCall(call, arguments)]
    assert pod.say("use it", session) == "pong"
    assert pod.model.tool_calls == [], f"{call} was not offered: {pod.model.turns()[-1].tools}"
    return str(pod.model.turns()[-1].body)


@pytest.mark.parametrize("json_response", [False, True], ids=["streamed", "plain json"])
def test_an_http_server_is_listed_called_and_gets_its_headers(pod: EnginePod, json_response: bool) -> None:
    with McpHttpServer(require=HEADERS, json_response=json_response, page=3) as crm:
        pod.start(mcp_servers=[crm.entry("crm")])
        heard = ask(pod, tool(pod, "crm", "add"), {"a": 40, "b": 2})
        assert "the sum is 42" in heard
        assert crm.messages("tools/list")
        assert crm.calls() == [("add", {"a": 40, "b": 2})]
        assert {message.headers["x-crm-key"] for message in crm.seen} == {HEADERS["x-crm-key"]}
        # The tools from both pages of the list.
        assert tools_of(pod, "crm") == {tool(pod, "crm", name) for name in ("echo", "add", "picture", "fail")}


@pytest.mark.here
@with_stdio
def test_a_stdio_server_runs_below_the_bridge_and_never_below_the_gateway(pod: EnginePod, journal: Path) -> None:
    pod.start(mcp_servers=[mcp_stdio.entry("files", journal, FILES_TOKEN="token-of-the-customer")])
    heard = ask(pod, tool(pod, "files", "echo"), {"text": "salt and pepper"})
    assert "stdio echoes salt and pepper" in heard
    messages = mcp_stdio.read_journal(journal)
    methods = {message["method"] for message in messages}
    assert {"tools/list", "tools/call"} <= methods
    assert methods & {"initialize", "server/discover"}  # older clients begin with the first, newer ones with the second
    assert {message["env"]["FILES_TOKEN"] for message in messages} == {"token-of-the-customer"}
    for message in messages:
        assert pod.program(PodProgram.BRIDGE).pid in message["ancestors"]
        assert pod.program(PodProgram.GATEWAY).pid not in message["ancestors"]


@pytest.mark.here
@with_stdio
def test_a_stdio_server_does_not_outlive_its_pod(pod: EnginePod, journal: Path) -> None:
    pod.start(mcp_servers=[mcp_stdio.entry("files", journal)])
    pod.say("hello")
    pids = {message["pid"] for message in mcp_stdio.read_journal(journal)}
    assert pids
    pod.runtime.stop(pod.namespace)
    eventually(lambda: not pids & {process.pid for process in pod.engine_processes()}, within=20, what="its end")


def test_tools_of_an_added_and_of_a_removed_server_change_in_place(pod: EnginePod, crm: McpHttpServer) -> None:
    pod.start()
    pod.say("one")
    assert tools_of(pod, "crm") == set()
    built_in = pod.model.turns()[-1].tools
    pod.change(mcp_servers=[crm.entry("crm")])
    pod.say("two")
    assert len(tools_of(pod, "crm")) == 4
    assert built_in < pod.model.turns()[-1].tools
    pod.change(mcp_servers=[])
    pod.say("three")
    assert pod.model.turns()[-1].tools == built_in


def test_a_disabled_tool_stays_absent_beside_the_tools_of_a_server(pod: EnginePod, crm: McpHttpServer) -> None:
    toolset, name, _ = expected(pod).deed
    kept = expected(pod).kept
    pod.start(mcp_servers=[crm.entry("crm")], toolsets=[kept])
    pod.say("one")
    offered = pod.model.turns()[-1].tools
    assert name not in offered
    assert expected(pod).whole(offered - tools_of(pod, "crm")) == set(pod.engine.toolsets.get(kept, ()))
    pod.change(toolsets=[WITHOUT_TOOLS])
    pod.say("two")
    assert pod.model.turns()[-1].tools == tools_of(pod, "crm")
    pod.change(toolsets=[toolset])
    pod.say("three")
    assert name in pod.model.turns()[-1].tools


@pytest.mark.here
def test_a_dead_and_a_hanging_server_keep_neither_the_engine_nor_the_others_from_working(
    pod: EnginePod, crm: McpHttpServer
) -> None:
    """One server refuses the connection, one accepts it and never answers, and one wants another key."""
    with _hanging() as hanging:
        dead = {"name": "dead", "url": f"http://127.0.0.1:{free_port()}/mcp"}
        hung = {"name": "hung", "url": hanging}
        foreign = {"name": "foreign", "url": crm.url, "headers": {"x-crm-key": "wrong"}}
        pod.start(mcp_servers=[dead, hung, foreign, crm.entry("crm")])
        heard = ask(pod, tool(pod, "crm", "echo"), {"text": "all the same"})
        assert "http echoes all the same" in heard
        for name in ("dead", "hung", "foreign"):
            assert tools_of(pod, name) == set()


@pytest.mark.parametrize("engine", ["hermes", "n8n", "pi"], indirect=True)
def test_long_and_like_names_of_tools_are_told_apart_and_fit(pod: EnginePod) -> None:
    """Not tried: opencode sends such names unchanged, and claude-code offers only one of two that become equal."""
    with McpHttpServer() as crm:
        crm.tools = [mcp_tools.tool(name, "A tool") for name in ("a.b", "a/b", "x" * 90 + "1", "x" * 90 + "2")]
        pod.start(mcp_servers=[crm.entry("crm-1")])
        pod.say("hello")
        names = tools_of(pod, "crm-1")
        assert tool(pod, "crm-1", "a_b") in names
        assert len(names) == 4
        assert max(map(len, names)) <= 64


def test_a_tool_that_fails_is_heard_by_the_model_and_the_turn_goes_on(pod: EnginePod, crm: McpHttpServer) -> None:
    pod.start(mcp_servers=[crm.entry("crm")])
    assert "it failed as told" in ask(pod, tool(pod, "crm", "fail"), {})


@pytest.mark.here
def test_the_keys_of_a_server_are_in_no_argument_and_in_no_evidence(pod: EnginePod, crm: McpHttpServer) -> None:
    pod.start(mcp_servers=[crm.entry("crm")])
    pod.say("hello")
    for process in pod.engine_processes():
        assert HEADERS["x-crm-key"].encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
    for name in ("bridge.log", "gateway.log", "state.json"):
        path = pod.home / "pods" / pod.namespace / name
        assert not path.exists() or HEADERS["x-crm-key"] not in path.read_text()


class _hanging:  # noqa: N801 - used as a statement
    """An address that accepts connections and never answers."""

    def __enter__(self) -> str:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=16)
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/mcp"

    def __exit__(self, *_: object) -> None:
        self._socket.close()
