"""An agent's JSON form for those who may read it and not operate it: without what would let them operate it."""

from __future__ import annotations

from typing import Any

HIDDEN = "hidden"
SECRETS = ("dashPassword", "a2aToken")


def without_secrets(body: dict[str, Any]) -> dict[str, Any]:
    """The same agent, without its password and token, and with the values of its MCP servers' secrets hidden."""
    shown = {name: None if name in SECRETS else value for name, value in body.items()}
    if tools := shown.get("tools"):
        shown["tools"] = {**tools, "mcpServers": [_without_values(server) for server in tools["mcpServers"]]}
    return shown


def _without_values(server: dict[str, Any]) -> dict[str, Any]:
    hidden: dict[str, Any] = {
        name: dict.fromkeys(server[name], HIDDEN) for name in ("env", "headers") if name in server
    }
    return {**server, **hidden}
