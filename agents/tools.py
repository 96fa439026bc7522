"""An agent's toolsets and MCP servers."""

from __future__ import annotations

import re
from typing import Any

from django.db import transaction

from agents import a2a, configuration
from agents.models import Agent
from catalog import tools as catalog_tools
from catalog.engines import engine_of
from config.errors import BadRequest

A2A_TOOLSET = "a2a"
MAX_MCP_SERVERS = 20
_SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")

Server = dict[str, Any]


def check(enabled: list[str], servers: list[Server], *, engine_id: str, prefix: str = "") -> None:
    """Raise BadRequest naming the first toolset or server that the engine cannot have; `prefix` is where they stand."""
    engine = engine_of(engine_id)
    if enabled.count(A2A_TOOLSET) > 1:
        raise BadRequest(f"{prefix}enabled: {A2A_TOOLSET!r} is given twice")
    catalog_tools.check_toolsets([name for name in enabled if name != A2A_TOOLSET], engine, field=f"{prefix}enabled")
    if servers and not engine.mcp:
        raise BadRequest(f"{prefix}mcpServers: {engine.label} takes no MCP servers")
    if len(servers) > MAX_MCP_SERVERS:
        raise BadRequest(f"{prefix}mcpServers: at most {MAX_MCP_SERVERS}")
    _check_names([str(server["name"]) for server in servers], f"{prefix}mcpServers")
    for index, server in enumerate(servers):
        _check_transport(server, f"{prefix}mcpServers[{index}]")


def _check_names(names: list[str], where: str) -> None:
    reserved = {toolset.id for toolset in catalog_tools.offered()}
    for index, name in enumerate(names):
        if not _SERVER_NAME.fullmatch(name):
            raise BadRequest(f"{where}[{index}].name: {name!r} must be 1 to 40 letters, digits, '-' or '_'")
        if name in reserved:
            raise BadRequest(f"{where}[{index}].name: {name!r} is the id of a built-in toolset")
        if name in names[:index]:
            raise BadRequest(f"{where}[{index}].name: {name!r} comes twice")


def _check_transport(server: Server, where: str) -> None:
    has_command, has_url = bool(server.get("command")), bool(server.get("url"))
    if has_command == has_url:
        raise BadRequest(f"{where}: either command or url")
    if has_url and (server.get("args") or server.get("env")):
        raise BadRequest(f"{where}: args and env belong to command, not to url")
    if has_command and server.get("headers"):
        raise BadRequest(f"{where}: headers belong to url, not to command")


@transaction.atomic
def replace(agent: Agent, *, enabled: list[str], mcp_servers: list[Server]) -> Agent:
    """Set all of the agent's tools. The toolset `a2a` switches A2A with it."""
    check(enabled, mcp_servers, engine_id=agent.engine)
    agent = configuration.locked(agent)
    agent.tools_enabled, agent.mcp_servers = enabled, mcp_servers
    fields = a2a.switch(agent, on=A2A_TOOLSET in enabled)
    return configuration.save(agent, fields=["tools_enabled", "mcp_servers", *fields])
