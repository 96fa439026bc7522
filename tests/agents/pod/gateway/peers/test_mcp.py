"""The gateway's MCP server, as an engine uses it: with the official client, and as bytes on the wire."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
import requests

from agents.engines.base import PEERS_PATH
from tests.agents.pod.gateway.peers.conftest import PEER_TOKEN, ask, connect, failure, said, use, with_peers
from tests.agents.pod.gateway.process import LLM_TOKEN, MANAGEMENT_TOKEN, GatewayProcess
from tests.doubles.peer import PeerDouble


def post(gateway: GatewayProcess, raw: bytes, **headers: str) -> requests.Response:
    usual = {"Authorization": f"Bearer {LLM_TOKEN}", "Content-Type": "application/json"}
    sent = {**usual, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return requests.post(gateway.llm + PEERS_PATH, data=raw, headers=sent, timeout=10)


def test_the_official_client_finds_two_tools_and_uses_them(asking: GatewayProcess, peer: PeerDouble) -> None:
    async def run() -> list[str]:
        headers = {"Authorization": f"Bearer {LLM_TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False) as http, connect(http, asking) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert asyncio.run(run()) == ["list_peers", "send_message"]
    assert said(use(asking, "list_peers")) == {"peers": [{"name": "bob", "about": "Knows boats."}]}
    assert ask(asking) == {"peer": "bob", "state": "completed", "reply": "as you say", "conversation": "talk-1"}


def test_a_ping_is_answered(asking: GatewayProcess) -> None:
    assert post(asking, b'{"jsonrpc": "2.0", "id": "p", "method": "ping"}').json()["result"] == {}


def test_what_the_engine_hears_never_has_the_peers_token(fresh_asking: GatewayProcess, peer: PeerDouble) -> None:
    peer.answer = lambda call: {"result": {"message": {"parts": [{"text": f"you said {call.params['message']}"}]}}}
    assert PEER_TOKEN not in ask(fresh_asking)["reply"]
    assert peer.calls[-1].token == f"Bearer {PEER_TOKEN}"
    assert set(peer.card_tokens) == {None}
    assert PEER_TOKEN not in fresh_asking.log


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Bearer {MANAGEMENT_TOKEN}"}, 401),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Content_Type": "text/plain"}, 415),
    ],
)
def test_nobody_but_the_pods_engine_is_heard(asking: GatewayProcess, headers: dict[str, str], status: int) -> None:
    assert post(asking, b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', **headers).status_code == status


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_and_no_session(asking: GatewayProcess, method: str) -> None:
    headers = {"Authorization": f"Bearer {LLM_TOKEN}"}
    answer = requests.request(method, asking.llm + PEERS_PATH, headers=headers, timeout=10)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": []}', -32601),
    ],
)
def test_malformed_messages_are_json_rpc_errors(asking: GatewayProcess, raw: bytes, code: int) -> None:
    answer = post(asking, raw)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, code)


def test_notifications_are_taken_without_an_answer(asking: GatewayProcess) -> None:
    answer = post(asking, b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    assert (answer.status_code, answer.content) == (202, b"")
    assert post(asking, b'{"jsonrpc": "2.0", "id": 1, "result": {}}').status_code == 202


def test_a_body_without_an_end_is_refused(asking: GatewayProcess) -> None:
    assert post(asking, b" " * 1_100_000).status_code == 413


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"peer": "bob"}, "message"),
        ({"peer": "bob", "message": " "}, "message"),
        ({"peer": 5, "message": "hi"}, "peer"),
        ({"peer": "bob", "message": "x" * 70_000}, "at most"),
        ({"peer": "bob", "message": "hi", "conversation": "x" * 300}, "conversation"),
        ({"peer": "carol", "message": "hi"}, "the peers are: bob"),
    ],
)
def test_wrong_arguments_are_told_to_the_model(
    asking: GatewayProcess, peer: PeerDouble, arguments: dict[str, Any], word: str
) -> None:
    result = use(asking, "send_message", **arguments)
    assert result.is_error
    assert word in said(result)["error"]
    assert peer.calls == []


def test_peers_change_at_once_and_without_the_engine(fresh_asking: GatewayProcess, peer: PeerDouble) -> None:
    renamed = {"name": "robert", "url": f"{peer.url}/rpc"}
    fresh_asking.configure(**with_peers(renamed))
    assert "the peers are: robert" in failure(fresh_asking)
    assert ask(fresh_asking, peer="robert")["reply"] == "as you say"
    assert peer.calls[-1].token is None
    fresh_asking.configure(**with_peers())
    assert "no peers at the moment" in failure(fresh_asking, peer="robert")
