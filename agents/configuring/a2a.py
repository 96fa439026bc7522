"""Agent-to-agent settings: the switch, the token that peers must send, the listing and the peers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from agents.configuring import configuration
from agents.models import Agent
from config.errors import BadRequest

TOOLSET = "a2a"
MAX_PEERS = 20  # more peers are refused before any of them is checked
TOKEN_BYTES = 24


def check(settings: Mapping[str, Any] | None, *, prefix: str = "a2a.") -> None:
    """Raise BadRequest when the settings ask for the listing or a new token while A2A is off, when two peers have the
    same name, or when a peer's address is not HTTP. `prefix` comes before the field's name in the message."""
    if settings is None:
        return
    for name, given in (("listed", settings.get("listed")), ("rotateToken", settings.get("rotate_token"))):
        if given and not settings["enabled"]:
            raise BadRequest(f"{prefix}{name}: needs {prefix}enabled")
    peers = settings.get("peers") or []
    names = [peer["name"] for peer in peers]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise BadRequest(f"{prefix}peers[{index}].name: {name!r} comes twice")
    for index, peer in enumerate(peers):
        _check_url(peer["url"], f"{prefix}peers[{index}].url")


def _check_url(url: str, where: str) -> None:
    """The address is shown to everybody who may read the agent, so it has no password in it."""
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in {"https", "http"} and parts.port != 0
    except ValueError:  # a port that there is not
        is_web = False
    if not is_web:
        raise BadRequest(f"{where}: must be an https:// or http:// address")
    if "@" in urlsplit(url).netloc:
        raise BadRequest(f"{where}: credentials belong in token")


@transaction.atomic
def replace(agent: Agent, settings: Mapping[str, Any]) -> Agent:
    """Change those of `enabled`, `listed`, `peers` and `rotate_token` that are given; the others stay.

    The pod's gateway applies the change: the engine is not restarted. Raises BadRequest as `check` does, and
    NoSuchAgent.
    """
    check(settings, prefix="")
    agent = configuration.locked(agent)
    if settings.get("rotate_token"):
        agent.a2a_token = None
    agent.tools_enabled = _with_toolset(agent.tools_enabled, on=settings["enabled"])
    return configuration.save(agent, fields=[*apply(agent, settings), "tools_enabled"])


@transaction.atomic
def add_peer(agent: Agent, peer: Mapping[str, Any]) -> Agent:
    """Add a peer to the agent's peers. Raises BadRequest as `check` does, and when the agent already has MAX_PEERS
    peers."""
    agent = configuration.locked(agent)
    known = agent.a2a_peers or []
    if len(known) >= MAX_PEERS:
        raise BadRequest(f"peers: at most {MAX_PEERS}")
    return replace(agent, {"enabled": agent.a2a_enabled, "peers": [*_bare(known), peer]})


@transaction.atomic
def remove_peer(agent: Agent, name: str) -> Agent:
    """Remove the peer of this name; the other peers stay. Removing a peer that is already gone succeeds."""
    agent = configuration.locked(agent)
    others = [peer for peer in agent.a2a_peers or [] if peer["name"] != name]
    return replace(agent, {"enabled": agent.a2a_enabled, "peers": _bare(others)})


def _bare(peers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The peers without their tokens. The stored token of each name stays, as the addresses do."""
    return [{"name": peer["name"], "url": peer["url"]} for peer in peers]


def switch(agent: Agent, *, on: bool) -> list[str]:
    """Turn A2A on (and make a token) or off (and forget the token). Returns the columns to save.

    The owner's choice of `listed` is kept for the time when A2A is on again.
    """
    if on and not agent.a2a_token:
        agent.a2a_token = secrets.token_urlsafe(TOKEN_BYTES)
    if not on:
        agent.a2a_token = None
    agent.a2a_enabled = on
    return ["a2a_enabled", "a2a_token"]


def apply(agent: Agent, settings: Mapping[str, Any]) -> list[str]:
    """Set all A2A settings that a caller may give. Returns the columns to save."""
    fields = switch(agent, on=settings["enabled"])
    if "listed" in settings:
        agent.a2a_listed = settings["listed"]
    if "peers" in settings:
        agent.a2a_peers = _peers(settings["peers"] or [], known=agent.a2a_peers or [])
    return [*fields, "a2a_listed", "a2a_peers"]


def _with_toolset(enabled: list[str] | None, *, on: bool) -> list[str] | None:
    """Make the toolset `a2a` agree with the switch. None means that no toolsets were chosen; that stays."""
    if enabled is None or (TOOLSET in enabled) == on:
        return enabled
    return [*enabled, TOOLSET] if on else [name for name in enabled if name != TOOLSET]


def _peers(given: Sequence[Mapping[str, Any]], *, known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Build the whole list of peers again. A peer without a `token` keeps the stored token of its name, unless another
    host would get it: who may not see the token must not have it sent to them either. Null forgets the token."""
    tokens = {(peer["name"], _host(peer["url"])): peer.get("token") for peer in known}
    peers = [
        {**peer, "token": peer["token"] if "token" in peer else tokens.get((peer["name"], _host(peer["url"])))}
        for peer in given
    ]
    return [{name: value for name, value in peer.items() if value is not None} for peer in peers]


def _host(url: str) -> tuple[str, str]:
    """Who answers at this address, and whether others can read along."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
