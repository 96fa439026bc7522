"""`POST /mcp-test` of the management listener: it calls an owner's MCP server, as an engine would."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.mcp_http import McpHttpServer
from tests.doubles.receiver import Behaviour, Receiver, raw, status

LOOPBACK = ["127.0.0.0/8"]
KEY = "Bearer key-of-the-owner-0123456789"


@pytest.fixture
def open_gateway(start_gateway: StartGateway) -> GatewayProcess:
    return start_gateway(peer_networks=LOOPBACK)


def tried(gateway: GatewayProcess, url: str, *, seconds: float = 15, **headers: str) -> Any:
    answer = gateway.ask("POST", "/mcp-test", json={"url": url, "headers": headers, "seconds": seconds})
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_server_that_answers_is_told_with_its_tools(open_gateway: GatewayProcess) -> None:
    shapes: list[dict[str, Any]] = [{}, {"json_response": True}, {"stateless": True}]
    for shape in shapes:
        with McpHttpServer(require={"Authorization": KEY}, **shape) as server:
            found = tried(open_gateway, server.url, Authorization=KEY)
            assert (found["ok"], found["error"]) == (True, None)
            assert found["tools"] == [tool.name for tool in server.tools]
            assert found["ms"] >= 0
            asked = [message.method for message in server.seen if "notifications" not in message.method]
            assert asked == ["initialize", "tools/list"]
            assert server.ended == (0 if "stateless" in shape else 1)


def test_why_a_server_does_not_answer_is_told_without_the_key(open_gateway: GatewayProcess) -> None:
    with McpHttpServer(require={"Authorization": "other"}) as server:
        assert tried(open_gateway, server.url, Authorization=KEY)["error"] == "it refused your headers (401)"
    gone = tried(open_gateway, "http://127.0.0.1:9/mcp")
    assert (gone["ok"], gone["tools"], gone["error"]) == (False, [], "it cannot be reached")
    assert tried(open_gateway, "http://10.255.255.1/mcp")["error"] == "its address is not on the public internet"


def _says(body: str, kind: str = "application/json") -> Behaviour:
    return status(200, f"Content-Type: {kind}", body=body.encode())


LIES: list[tuple[Behaviour, str]] = [
    (status(302, "Location: http://127.0.0.1/"), "it redirects"),
    (status(500), "it answered 500"),
    (_says("<html>", "text/html"), "its answer is not JSON"),
    (_says("[" * 100_000), "its answer is not JSON"),
    (_says('{"result": []}'), "something else than MCP"),
    (_says('{"result": {"tools": 5}}'), "it names no tools"),
    (_says(f'{{"error": {{"message": "no {KEY} here \\ud800"}}}}'), "it refused initialize: no "),
    (_says("data: {}\n\n", "text/event-stream"), "it ended without an answer"),
    (_says(f"data: {'x' * 600_000}\n\n", "text/event-stream"), "it answered more than 524288 bytes"),
]


def test_servers_that_lie_or_speak_something_else_are_told(open_gateway: GatewayProcess) -> None:
    for behaviour, words in LIES:
        with Receiver(behaviours=[behaviour]).listening() as server:
            found = tried(open_gateway, server.url, Authorization=KEY)
        assert not found["ok"]
        assert words in found["error"]
        assert KEY not in found["error"]


def test_a_server_that_drips_is_given_up_in_time(open_gateway: GatewayProcess) -> None:
    endless = raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", b": \n", pause=0.5, repeat=True)
    with Receiver(behaviours=[endless]).listening() as server:
        started = time.monotonic()
        assert tried(open_gateway, server.url, seconds=1)["error"] == "it did not answer within 1 s"
    assert time.monotonic() - started < 10


def test_a_body_that_is_none_is_refused(open_gateway: GatewayProcess) -> None:
    wrong: list[Any] = [{}, {"url": 5, "headers": {}}, {"url": "http://x", "headers": {"A": 1}}, []]
    wrong.append({"url": "http://x", "headers": {}, "seconds": "1"})
    for body in wrong:
        assert open_gateway.ask("POST", "/mcp-test", json=body).status_code == 400
