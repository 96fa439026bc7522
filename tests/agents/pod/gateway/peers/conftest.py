"""An agent with a peer. The official MCP client calls the gateway, as the agent's engine would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from agents.engines.base import PEERS_PATH
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import LLM_TOKEN, GatewayProcess
from tests.doubles.bridge import BridgeDouble
from tests.doubles.peer import PeerDouble
from tests.doubles.provider import ModelVendor

PEER_TOKEN = "token-that-bob-gave"
LOOPBACK = ["127.0.0.0/8"]


@pytest.fixture(scope="session")
def _peer() -> Iterator[PeerDouble]:
    with PeerDouble() as double:
        yield double


@pytest.fixture
def peer(_peer: PeerDouble) -> PeerDouble:
    _peer.reset()
    return _peer


@pytest.fixture(scope="session")
def _asking(
    _bridge: BridgeDouble, _provider: ModelVendor, _peer: PeerDouble, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    gateway = GatewayProcess(
        {
            "bridge_url": _bridge.url,
            "llm_base_url": f"{_provider.url}/v1",
            "inside": True,
            "run_dir": str(tmp_path_factory.mktemp("peers")),
            **with_peers({"name": "bob", "url": f"{_peer.url}/rpc", "token": PEER_TOKEN}),
        }
    )
    gateway.wait_until_up()
    yield gateway
    gateway.stop()


@pytest.fixture
def asking(_asking: GatewayProcess, bridge: BridgeDouble, peer: PeerDouble) -> GatewayProcess:
    """A gateway whose agent has one peer. Many tests share it, so each must leave it as it was."""
    return _asking


@pytest.fixture
def fresh_asking(start_gateway: StartGateway, peer: PeerDouble) -> GatewayProcess:
    """A gateway whose agent has one peer, for one test alone."""
    return start_gateway(**with_peers({"name": "bob", "url": f"{peer.url}/rpc", "token": PEER_TOKEN}))


def with_peers(*peers: dict[str, Any]) -> dict[str, Any]:
    return {
        "a2a_enabled": True,
        "a2a_token": "own-token-0123456789",
        "a2a_peers": list(peers),
        "has_peers": bool(peers),
        "peer_networks": LOOPBACK,
    }


def connect(http: httpx2.AsyncClient, gateway: GatewayProcess) -> Client:
    return Client(streamable_http_client(gateway.llm + PEERS_PATH, http_client=http))


def use(gateway: GatewayProcess, tool: str, **arguments: Any) -> CallToolResult:
    """Call the tool, as an engine's MCP client does. Returns the result."""

    async def run() -> CallToolResult:
        headers = {"Authorization": f"Bearer {LLM_TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
            connect(http, gateway) as client,
        ):
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def said(result: CallToolResult) -> Any:
    """The JSON that the model reads."""
    (part,) = result.content
    assert isinstance(part, TextContent)
    return json.loads(part.text)


def ask(gateway: GatewayProcess, message: str = "hello", **more: str) -> Any:
    """Send a message to the peer. Returns its answer; a failure fails the test."""
    result = use(gateway, "send_message", **{"peer": "bob", "message": message, **more})
    assert not result.is_error, result
    return said(result)


def failure(gateway: GatewayProcess, **more: str) -> str:
    result = use(gateway, "send_message", **{"peer": "bob", "message": "hello", **more})
    assert result.is_error, result
    problem: str = said(result)["error"]
    return problem
