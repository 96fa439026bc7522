"""`POST /agents/{id}/mcp-test`: the pod calls one of the agent's MCP servers."""

from __future__ import annotations

from typing import Any

from rest_framework.test import APIClient

from agents.models import Agent, Reason
from agents.running import lifecycle
from tests.agents.conftest import settle
from tests.agents.views.conftest import GatewayOf
from tests.doubles.mcp_http import McpHttpServer

KEY = {"Authorization": "Bearer abc"}


def ask(client: APIClient, agent: Agent, name: str = "crm") -> Any:
    return client.post(f"/agents/{agent.pk}/mcp-test", {"name": name}, format="json")


def has(agent: Agent, *servers: dict[str, Any]) -> None:
    agent.mcp_servers = list(servers)
    agent.save(update_fields=["mcp_servers"])


def test_a_server_that_answers_is_told_with_its_tools_and_a_silent_one_with_why(
    client: APIClient, running: Agent, gateway_of: GatewayOf
) -> None:
    gateway_of(running, peer_networks=["127.0.0.0/8"])
    with McpHttpServer(require=KEY) as server:
        has(running, server.entry("crm"), {"name": "gone", "url": "http://127.0.0.1:9/mcp"})
        answer = ask(client, running)
        assert answer.status_code == 200, answer.content
        found = answer.json()["mcpTest"]
        assert set(found) == {"ok", "ms", "tools", "error"}
        assert (found["ok"], found["tools"]) == (True, [tool.name for tool in server.tools])
    found = ask(client, running, "gone").json()["mcpTest"]
    assert (found["ok"], found["tools"], found["error"]) == (False, [], "it cannot be reached")


def test_what_cannot_be_asked_is_refused(client: APIClient, running: Agent, other: APIClient) -> None:
    has(running, {"name": "crm", "url": "https://crm.example/mcp"}, {"name": "files", "command": "npx"})
    unknown = ask(client, running, "x")
    assert unknown.status_code == 400
    assert unknown.json()["message"].startswith("name: the agent has no MCP server 'x'")
    assert ask(client, running, "files").status_code == 409
    assert ask(other, running).status_code == 404
    assert "cannot be reached" in ask(client, running).json()["mcpTest"]["error"]
    agent = settle(lifecycle.pause(running, reason=Reason.OWNER, actor="user:x"))
    stopped = ask(client, agent)
    assert (stopped.status_code, "resume starts it" in stopped.json()["message"]) == (409, True)
