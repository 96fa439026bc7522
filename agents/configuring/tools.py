"""An agent's toolsets and MCP servers, and the keys of services that its tools use."""

from __future__ import annotations

from django.db import transaction

from agents.configuring import a2a, channels, configuration, mcp_servers
from agents.configuring.mcp_servers import MAX_SERVERS, Server
from agents.models import Agent
from catalog import tools as catalog_tools
from catalog.engines import engine_of
from config.errors import BadRequest

# Keys by service (catalog/vocabulary.py: ToolService). As with channels, null forgets a key.
Given = dict[str, str | None]


def check(
    enabled: list[str], servers: list[Server], *, secrets: dict[str, str], engine_id: str, prefix: str = ""
) -> None:
    """Raise BadRequest naming the first toolset, key or server that is wrong. `prefix` comes before each field's
    name."""
    engine = engine_of(engine_id)
    if enabled.count(a2a.TOOLSET) > 1:
        raise BadRequest(f"{prefix}enabled: {a2a.TOOLSET!r} is given twice")
    catalog_tools.check_toolsets([name for name in enabled if name != a2a.TOOLSET], engine, field=f"{prefix}enabled")
    for service, toolset in catalog_tools.services_of(enabled, engine).items():
        if service not in secrets:
            raise BadRequest(f"{prefix}secrets.{service}: on {engine.label} the toolset {toolset!r} needs it")
    mcp_servers.check(servers, engine=engine, where=f"{prefix}mcpServers")


def given(secrets: Given | None, *, prefix: str = "") -> Given:
    """The keys of a request. Raises BadRequest for a key that no HTTP header can carry."""
    for service, key in (secrets or {}).items():
        if key is not None and len(key) > channels.MAX_SECRET_CHARACTERS:
            raise BadRequest(f"{prefix}secrets.{service}: at most {channels.MAX_SECRET_CHARACTERS} characters")
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise BadRequest(f"{prefix}secrets.{service}: must be printable ASCII without white space")
    return secrets or {}


@transaction.atomic
def replace(
    agent: Agent, *, enabled: list[str], mcp_servers: list[Server] | None = None, secrets: Given | None = None
) -> Agent:
    """Set the agent's toolsets and servers, and change its keys. The toolset `a2a` also switches A2A.

    If no servers are given, they stay as they are.
    """
    agent = configuration.locked(agent)
    servers = agent.mcp_servers if mcp_servers is None else mcp_servers
    kept = channels.merged(agent.tool_secrets or {}, given(secrets))
    check(enabled, servers, secrets=kept, engine_id=agent.engine)
    agent.tools_enabled, agent.mcp_servers, agent.tool_secrets = enabled, servers, kept or None
    fields = a2a.switch(agent, on=a2a.TOOLSET in enabled)
    return configuration.save(agent, fields=["tools_enabled", "mcp_servers", "tool_secrets", *fields])


@transaction.atomic
def add_server(agent: Agent, server: Server) -> Agent:
    """Add an MCP server; toolsets and A2A stay. Raises BadRequest as `mcp_servers.check` does, and when the agent
    already has MAX_SERVERS servers."""
    agent = configuration.locked(agent)
    if len(agent.mcp_servers) >= MAX_SERVERS:
        raise BadRequest(f"mcpServers: at most {MAX_SERVERS}")
    return _with_servers(agent, [*agent.mcp_servers, server])


@transaction.atomic
def remove_server(agent: Agent, name: str) -> Agent:
    """Remove the MCP server of this name; the others stay. Removing a server that is already gone succeeds."""
    agent = configuration.locked(agent)
    return _with_servers(agent, [one for one in agent.mcp_servers if one["name"] != name])


def chosen(agent: Agent) -> list[str]:
    """The toolsets that are on, in the form that `replace` takes. A2A is among them even when it was switched on
    alone."""
    enabled = agent.tools_enabled or []
    return [*enabled, a2a.TOOLSET] if agent.a2a_enabled and a2a.TOOLSET not in enabled else enabled


def _with_servers(agent: Agent, servers: list[Server]) -> Agent:
    mcp_servers.check(servers, engine=engine_of(agent.engine), where="mcpServers")
    agent.mcp_servers = servers
    fields = ["mcp_servers"]
    if agent.tools_enabled is None:  # the API shows servers only together with toolsets
        agent.tools_enabled = chosen(agent)
        fields.append("tools_enabled")
    return configuration.save(agent, fields=fields)
