"""Finds a peer's address for calls and its protocol version in its agent card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from yarl import URL

from agents.pod.gateway.a2a.dialects import VERSION_HEADER
from agents.pod.gateway.peers.dialling import PeerFailure, exchange
from agents.pod.gateway.peers.wire import WIRES, Wire

CARD_SECONDS = 5.0
CARD_PATH = ".well-known/agent-card.json"
ABOUT_CHARACTERS = 300
_INTERFACES = 20  # of a card; the rest is ignored


@dataclass(frozen=True, slots=True)
class PeerOffer:
    url: str
    wire: Wire
    about: str


async def find(address: str, *, networks: list[str]) -> PeerOffer:
    """The peer's offer in the newest version that both sides speak. Raises PeerFailure.
    The card is public, so the request for it carries no token.
    """
    failure = PeerFailure("it has no agent card")
    for place in _places(address):
        try:
            card = await exchange(
                place, networks=networks, headers={VERSION_HEADER: WIRES[0].version}, seconds=CARD_SECONDS
            )
            return _offer(card, address)
        except PeerFailure as error:
            failure = error
    raise failure


def _places(address: str) -> list[str]:
    """Where the card may be. Owners enter the address of the card, of the calls, or of the host."""
    try:
        url = URL(address)
        if url.path.endswith(".json"):
            return [address]
        below = url.with_path(f"{url.path.rstrip('/')}/{CARD_PATH}")
        return list(dict.fromkeys(str(place) for place in (below, url.with_path(f"/{CARD_PATH}"))))
    except ValueError as error:
        raise PeerFailure("its address cannot be used") from error


def _offer(card: dict[str, Any], address: str) -> PeerOffer:
    offered = list(_interfaces(card))
    for wire in WIRES:
        for url, version in offered:
            if version.startswith(wire.version):
                return PeerOffer(_same_safety(url, address), wire, _about(card))
    raise PeerFailure("its agent card offers no JSON-RPC of A2A 1.0 or 0.3")


def _interfaces(card: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Address and version of each JSON-RPC interface. A card of 0.3 has a main address and a list of further ones."""
    listed = card.get("supportedInterfaces")
    for one in listed[:_INTERFACES] if isinstance(listed, list) else []:
        if isinstance(one, dict) and one.get("protocolBinding") == "JSONRPC" and isinstance(one.get("url"), str):
            yield one["url"], str(one.get("protocolVersion"))
    further = card.get("additionalInterfaces")
    main = {"url": card.get("url"), "transport": card.get("preferredTransport", "JSONRPC")}
    for one in [main, *(further[:_INTERFACES] if isinstance(further, list) else [])]:
        if isinstance(one, dict) and one.get("transport") == "JSONRPC" and isinstance(one.get("url"), str):
            yield one["url"], str(card.get("protocolVersion", "0.3.0"))


def _same_safety(url: str, address: str) -> str:
    """Refuse a card that leads from https to an address without TLS. The token is sent to the address in the card, but
    never without TLS if the owner entered https.
    """
    if address.lower().startswith("https://") and not url.lower().startswith("https://"):
        raise PeerFailure("its agent card leads to an address without TLS")
    return url


def _about(card: dict[str, Any]) -> str:
    said = card.get("description")
    return (
        " ".join(said.split())[:ABOUT_CHARACTERS].encode("utf-8", "replace").decode() if isinstance(said, str) else ""
    )
