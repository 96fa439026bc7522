"""pi's MCP extension with real servers, without pi: how it handles the answers of a server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from agents.engines import pi
from agents.pod.bridge import install
from tests.agents.pod.bridge.process import eventually
from tests.doubles.mcp_http import McpHttpServer
from tests.doubles.mcp_tools import PIXEL, tool
from tests.ports import free_port

pytestmark = [pytest.mark.sampled, pytest.mark.unmeasured]

HARNESS = Path(__file__).parents[2] / "doubles" / "pi_extension.mjs"
Entry = dict[str, Any]


class Extension:
    """The extension as pi runs it. `stderr` is what the bridge would keep as evidence."""

    def __init__(self, home: Path, entries: list[Entry]) -> None:
        (home / "mcp.json").write_text(json.dumps({"servers": entries}))
        self._process = subprocess.Popen(
            [str(install.node()), str(HARNESS), str(pi.MCP_EXTENSION)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "PI_CODING_AGENT_DIR": str(home), "NODE_NO_WARNINGS": "1"},
        )

    def ask(self, **command: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.ask(list=1)["tools"]]

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask(call=name, arguments=arguments)

    def text(self, name: str, **arguments: Any) -> str:
        return "".join(part["text"] for part in self.call(name, **arguments)["content"])

    def close(self) -> str:
        """Wait for the end. Returns what the extension wrote to stderr."""
        return self._process.communicate(timeout=20)[1]


Load = Callable[..., Extension]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    started: list[Extension] = []

    def begin(*entries: Entry) -> Extension:
        started.append(Extension(tmp_path, list(entries)))
        return started[-1]

    yield begin
    for extension in started:
        if not extension._process.stdin or not extension._process.stdin.closed:
            extension.close()


@pytest.mark.parametrize("json_response", [False, True], ids=["streamed", "plain json"])
@pytest.mark.parametrize("stateless", [False, True], ids=["with sessions", "without"])
def test_tools_are_listed_page_by_page_and_called(load: Load, json_response: bool, stateless: bool) -> None:
    with McpHttpServer(
        require={"x-key": "secret-of-the-customer"}, page=1, json_response=json_response, stateless=stateless
    ) as server:
        extension = load(server.entry("crm"))
        assert extension.tools() == [f"crm__{name}" for name in ("echo", "add", "picture", "fail")]
        assert extension.text("crm__add", a=1, b=2) == "the sum is 3"
        methods = [message.method for message in server.seen]
        assert methods == ["initialize", "notifications/initialized", *["tools/list"] * 4, "tools/call"]
        assert {message.headers["mcp-protocol-version"] for message in server.seen[1:]} == {"2025-11-25"}


def test_a_picture_comes_as_a_picture_and_a_failure_as_a_failure(load: Load) -> None:
    with McpHttpServer() as server:
        extension = load(server.entry("crm"))
        assert extension.call("crm__picture")["content"] == [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]
        assert extension.call("crm__fail") == {"error": "it failed as told"}


def test_names_are_unique_short_and_of_plain_characters(load: Load) -> None:
    with McpHttpServer() as server:
        server.tools = [
            tool("a.b", "one"),
            tool("a/b", "two"),
            tool("x" * 90 + "1", "three"),
            tool("x" * 90 + "2", "4"),
        ]
        names = load(server.entry("crm"), server.entry("other")).tools()
        assert len(set(names)) == 8
        assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in names)
        assert names[0] == "crm__a_b"


def test_names_come_in_the_order_of_the_configuration_whoever_answers_first(load: Load) -> None:
    with McpHttpServer(page=1) as slow, McpHttpServer() as quick:
        slow.tools = [tool(f"t{number}", "one") for number in range(20)]
        names = load(slow.entry("slow"), quick.entry("quick")).tools()
        assert [name.split("__")[0] for name in names] == ["slow"] * 20 + ["quick"] * len(quick.tools)


def test_a_session_that_the_server_forgot_is_opened_again(load: Load) -> None:
    port = free_port()
    with McpHttpServer(port=port) as server:
        extension = load(server.entry("crm"))
        assert extension.text("crm__echo", text="one") == "http echoes one"
    with McpHttpServer(port=port) as server:  # the restarted server does not know the session
        assert extension.text("crm__echo", text="two") == "http echoes two"
        assert server.calls() == [("echo", {"text": "two"})]


def test_a_server_that_comes_late_is_found_before_a_later_turn(load: Load, tmp_path: Path) -> None:
    port = free_port()
    extension = load({"name": "crm", "url": f"http://127.0.0.1:{port}/mcp"})
    assert extension.tools() == []
    with McpHttpServer(port=port):

        def found() -> bool:
            extension.ask(event="before_agent_start")
            return bool(extension.tools())

        eventually(found, within=20, what="the late server")
        assert extension.text("crm__echo", text="here") == "http echoes here"
    assert "MCP server crm: cannot be reached (ECONNREFUSED)" in extension.close()


def test_one_server_that_refuses_costs_the_others_nothing(load: Load) -> None:
    with McpHttpServer(require={"x-key": "good"}) as server:
        wrong = {**server.entry("wrong"), "headers": {"x-key": "bad"}}
        extension = load(wrong, server.entry("right"))
        assert {name.split("__")[0] for name in extension.tools()} == {"right"}
    assert extension.close().strip() == "MCP server wrong: answered 401"


def test_sessions_are_ended_with_the_conversation(load: Load) -> None:
    with McpHttpServer() as server:
        load(server.entry("crm")).ask(event="session_shutdown")
        assert server.ended == 1


def test_a_call_that_the_turn_gives_up_is_cancelled_at_the_server(load: Load) -> None:
    with _Scripted() as server:
        extension = load({"name": "slow", "url": server.url})
        assert extension.ask(abort="slow__wait", arguments={}, after=200) == {
            "error": "MCP server slow: did not answer in time"
        }
        eventually(lambda: "notifications/cancelled" in server.methods, what="the cancellation")


def test_headers_are_not_carried_to_another_server(load: Load) -> None:
    with _Scripted() as elsewhere, _Scripted(redirect=elsewhere.url) as server:
        extension = load({"name": "moved", "url": server.url, "headers": {"x-key": "secret"}})
        assert extension.tools() == []
        assert elsewhere.methods == []
    assert extension.close().strip() == "MCP server moved: redirects to another server"


def test_a_redirect_within_the_server_is_followed(load: Load) -> None:
    with _Scripted(redirect="/elsewhere") as server:
        assert load({"name": "moved", "url": server.url}).tools() == ["moved__wait"]


def test_an_answer_that_is_cut_off_is_fetched_where_it_broke_off(load: Load) -> None:
    with _Scripted(cut=True) as server:
        extension = load({"name": "cut", "url": server.url})
        assert extension.tools() == ["cut__wait"]
        assert server.resumed == ["event-1"]


@pytest.mark.parametrize("version", ["2024-11-05", "1999-01-01"])
def test_the_version_that_the_server_chooses_is_spoken_if_we_know_it(load: Load, version: str) -> None:
    with _Scripted(version=version) as server:
        known = version == "2024-11-05"
        assert load({"name": "old", "url": server.url}).tools() == (["old__wait"] if known else [])


class _Scripted:
    """A server that can do more of the protocol than the SDK's: redirect, cut answers off, never end a call."""

    def __init__(self, *, redirect: str | None = None, cut: bool = False, version: str = "2025-06-18") -> None:
        self.redirect, self.cut, self.version = redirect, cut, version
        self.methods: list[str] = []
        self.resumed: list[str] = []
        self.held = b""
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/mcp"

    def __enter__(self) -> _Scripted:
        Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def result(self, method: str) -> dict[str, Any]:
        known = {
            "protocolVersion": self.version,
            "capabilities": {},
            "serverInfo": {"name": "scripted", "version": "1"},
        }
        tools = [{"name": "wait", "inputSchema": {"type": "object"}}]
        return known if method == "initialize" else {"tools": tools}


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    double: _Scripted


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, *_: object) -> None:
        """Write no log."""

    def do_GET(self) -> None:
        self.server.double.resumed.append(self.headers["Last-Event-ID"])
        self._send(200, "text/event-stream", self.server.double.held)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.double.redirect and self.path == "/mcp":
            self.send_response(307)
            self.send_header("Location", self.server.double.redirect)
            self.end_headers()
            return
        self.server.double.methods.append(message["method"])
        if message["method"] == "tools/call":
            self.rfile.read(1)  # wait until the caller hangs up
        elif "id" not in message:
            self._send(202, "text/plain", b"")
        else:
            self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        body = json.dumps(
            {"jsonrpc": "2.0", "id": message["id"], "result": self.server.double.result(message["method"])}
        )
        if not self.server.double.cut or message["method"] != "tools/list":
            return self._send(200, "application/json", body.encode())
        self.server.double.held = f"id: event-2\ndata: {body}\n\n".encode()
        return self._send(200, "text/event-stream", b": hello\n\nid: event-1\nretry: 10\ndata: \n\n")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
