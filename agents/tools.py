"""An agent's toolsets and MCP servers."""

from __future__ import annotations

from django.db import transaction

from agents import a2a, configuration, mcp_servers
from agents.mcp_servers import Server
from agents.models import Agent
from catalog import tools as catalog_tools
from catalog.engines import engine_of
from config.errors import BadRequest


def check(enabled: list[str], servers: list[Server], *, engine_id: str, prefix: str = "") -> None:
    """Raise BadRequest naming the first toolset or server that the engine cannot have; `prefix` is where they stand."""
    engine = engine_of(engine_id)
    if enabled.count(a2a.TOOLSET) > 1:
        raise BadRequest(f"{prefix}enabled: {a2a.TOOLSET!r} is given twice")
    catalog_tools.check_toolsets([name for name in enabled if name != a2a.TOOLSET], engine, field=f"{prefix}enabled")
    mcp_servers.check(servers, engine=engine, where=f"{prefix}mcpServers")


@transaction.atomic
def replace(agent: Agent, *, enabled: list[str], mcp_servers: list[Server]) -> Agent:
    """Set all of the agent's tools. The toolset `a2a` switches A2A with it."""
    check(enabled, mcp_servers, engine_id=agent.engine)
    agent = configuration.locked(agent)
    agent.tools_enabled, agent.mcp_servers = enabled, mcp_servers
    fields = a2a.switch(agent, on=a2a.TOOLSET in enabled)
    return configuration.save(agent, fields=["tools_enabled", "mcp_servers", *fields])
