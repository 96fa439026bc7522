"""A service that answers over HTTP, an owner's API key, and what speaks MCP with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from django.http.response import HttpResponseBase
from django.utils import timezone
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from pytest_django.live_server_helper import LiveServer
from rest_framework.test import APIClient

from accounts import keys
from accounts.models import User
from tests.agents.conftest import bridge, catalog, gateway_of, make_agent, owner, runtime, stranger
from tests.doubles.runtime import ScriptedRuntime
from tests.sdk.conftest import worker
from tests.webhooks.conftest import trusted

__all__ = ["bridge", "catalog", "gateway_of", "make_agent", "owner", "runtime", "stranger", "trusted", "worker"]

MODERN = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def key(owner: User, catalog: None, runtime: ScriptedRuntime) -> str:
    _, secret = keys.create(owner, name="model", now=timezone.now())
    return secret


class HandWritten:
    """A model's client that sends messages by hand: `model.tool("get_agent", agentId=…)`."""

    def __init__(self, key: str) -> None:
        self._client = APIClient(raise_request_exception=False)
        self.key = key

    def post(self, body: Any, **headers: str) -> Any:
        given: dict[str, Any] = {
            "HTTP_AUTHORIZATION": f"Bearer {self.key}",
            "HTTP_ACCEPT": "application/json, text/event-stream",
        }
        raw: Any = body if isinstance(body, str | bytes) else json.dumps(body)
        return self._client.generic("POST", "/mcp", raw, content_type="application/json", **{**given, **headers})

    def ask(self, method: str, **params: Any) -> Any:
        """The answer to one message of the protocol's present version."""
        headers = {"HTTP_MCP_PROTOCOL_VERSION": MODERN, "HTTP_MCP_METHOD": method}
        if named := params.get("name") or params.get("uri"):
            headers["HTTP_MCP_NAME"] = named
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _META}}
        return _json(self.post(message, **headers))

    def tool(self, name: str, /, **arguments: Any) -> Any:
        answer = self.ask("tools/call", name=name, arguments=arguments)
        return answer.get("result", answer)

    def refusal(self, name: str, /, **arguments: Any) -> str:
        """What the tool says when it refuses."""
        result = self.tool(name, **arguments)
        assert result["isError"], result
        return str(result["content"][0]["text"])


def _json(response: HttpResponseBase) -> Any:
    content = b"".join(response) if response.streaming else response.content  # type: ignore[attr-defined]
    return json.loads(content)


@pytest.fixture
def model(key: str) -> HandWritten:
    return HandWritten(key)


@dataclass(frozen=True)
class OfficialClients:
    """The official client, over real HTTP, in both eras of the protocol."""

    url: str
    key: str

    def run(self, era: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
        return asyncio.run(self._with(era, work))

    async def _with(self, era: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
        async with self._connected(era) as client:
            return await work(client)

    @asynccontextmanager
    async def _connected(self, era: str) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {self.key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            async with Client(transport, mode=era) as client:
                yield client


@pytest.fixture
def official(live_server: LiveServer, key: str) -> OfficialClients:
    return OfficialClients(live_server.url, key)
