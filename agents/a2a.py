"""Agent-to-agent settings: the switch, the token that peers must send, the listing and the peers."""

from __future__ import annotations

import secrets
from typing import Any

from agents.models import Agent
from config.errors import BadRequest

MAX_PEERS = 20  # counted by the body's field, before any is looked at
TOKEN_BYTES = 24


def check(settings: dict[str, Any] | None) -> None:
    """Raise BadRequest when listing is asked for without A2A, or when peers share a name or are not on HTTP."""
    if settings is None:
        return
    if settings.get("listed") and not settings["enabled"]:
        raise BadRequest("a2a.listed: needs a2a.enabled")
    peers = settings.get("peers") or []
    names = [peer["name"] for peer in peers]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise BadRequest(f"a2a.peers[{index}].name: {name!r} comes twice")
    for index, peer in enumerate(peers):
        if not peer["url"].lower().startswith(("https://", "http://")):
            raise BadRequest(f"a2a.peers[{index}].url: must be an https:// or http:// address")


def switch(agent: Agent, *, on: bool) -> list[str]:
    """Turn A2A on (minting a token) or off (forgetting it); the columns changed are returned for saving."""
    if on and not agent.a2a_token:
        agent.a2a_token = secrets.token_urlsafe(TOKEN_BYTES)
    if not on:
        agent.a2a_token = None
        agent.a2a_listed = False
    agent.a2a_enabled = on
    return ["a2a_enabled", "a2a_token", "a2a_listed"]


def apply(agent: Agent, settings: dict[str, Any]) -> list[str]:
    """Set everything a caller may say of A2A; the columns changed are returned for saving."""
    fields = switch(agent, on=settings["enabled"])
    if "listed" in settings:
        agent.a2a_listed = settings["listed"]
    if "peers" in settings:
        agent.a2a_peers = [dict(peer) for peer in settings["peers"]]
    return [*fields, "a2a_peers"]
