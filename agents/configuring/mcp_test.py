"""Tests whether an MCP server of an agent answers. The agent's own pod asks it."""

from __future__ import annotations

from agents.errors import NoSuchServer, ServerOfTheEngine, WrongState
from agents.models import Agent, Desired, Status
from agents.pod.turns.failures import Hop, HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, management
from agents.runtimes.management import TriedServer
from config import waiting


def run(agent: Agent, *, name: str) -> TriedServer:
    """Ask the server of this name for its tools. A silent server is a result, not an error.

    Raises NoSuchServer; ServerOfTheEngine for a server that the engine starts itself; WrongState for a stopped agent;
    Unavailable when too many calls wait.
    """
    server = next((one for one in agent.mcp_servers if one["name"] == name), None)
    if server is None:
        raise NoSuchServer(name)
    if not server.get("url"):
        raise ServerOfTheEngine(name)
    if agent.desired == Desired.STOPPED:
        paused = "stopped" if agent.status == Status.STOPPED else "being stopped"
        raise WrongState("mcp-test", paused, f"POST /agents/{agent.id}/resume starts it")
    with waiting.looks.take(agent.user_id):
        try:
            return _asked(agent, url=server["url"], headers=server.get("headers") or {})
        except HopFailure as failure:
            return TriedServer(ok=False, ms=0, tools=[], error=failure.message)


def _asked(agent: Agent, *, url: str, headers: dict[str, str]) -> TriedServer:
    """Ask through the pod's gateway. Raises HopFailure when the gateway does not answer."""
    endpoint = current_runtime().endpoint(agent.namespace)
    if endpoint is None:
        raise HopFailure(Hop.GATEWAY, "the pod has no address")
    return management.mcp_test(endpoint, pods.access_of(agent), url=url, headers=headers)
