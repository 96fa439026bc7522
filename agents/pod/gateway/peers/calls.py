"""Calls of the agent to its peers: a few at a time, each with a time limit, and with a limit on the length of a chain
of agents.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agents.pod.gateway.a2a.dialects import VERSION_HEADER
from agents.pod.gateway.a2a.reading import HOPS_AT_MOST
from agents.pod.gateway.a2a.tasks import Tasks
from agents.pod.gateway.peers import cards, wire
from agents.pod.gateway.peers.cards import PeerOffer
from agents.pod.gateway.peers.dialling import PeerFailure, exchange
from agents.pod.gateway.peers.wire import PeerAnswer
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.turns import GatewayTurns

CALLS_AT_ONCE = 4
# A call must end before the turn that makes it. In a chain of agents, each further call gets less time, so that it ends
# before the call that waits for it.
CALL_SECONDS, SECONDS_PER_HOP = 80.0, 15.0
RESERVE_SECONDS = 5.0  # left for the turn, to report the failure
LEAST_SECONDS = 2.0
POLL_SECONDS = 1.0
CARD_AGE_SECONDS = 300.0
ERROR_CHARACTERS = 500

Peer = dict[str, Any]


class Peers:
    def __init__(self, pod: Pod, tasks: Tasks, turns: GatewayTurns) -> None:
        self._pod = pod
        self._tasks = tasks
        self._turns = turns
        self._open = 0
        self._listing = asyncio.Lock()
        self._offers: dict[str, tuple[PeerOffer, float]] = {}

    @property
    def _known(self) -> list[Peer]:
        """The current peers: the owner may change them at any time."""
        return self._pod.secrets.a2a_peers

    async def listed(self) -> list[dict[str, str]]:
        """Each peer's name with the description on its card, or with the problem if the card cannot be read."""
        async with self._listing:
            return list(await asyncio.gather(*(self._entry(peer) for peer in self._known)))

    async def _entry(self, peer: Peer) -> dict[str, str]:
        try:
            offer = await self._offer(peer["url"])
        except PeerFailure as failure:
            return {"name": peer["name"], "problem": str(failure)}
        return {"name": peer["name"], "about": offer.about}

    async def send(self, name: str, text: str, *, conversation: str | None) -> PeerAnswer:
        """Send a message and return the peer's answer. Raises PeerFailure."""
        peer = self._named(name)
        hops = self._next_hop()
        seconds = self._seconds(hops)
        with self._place():
            try:
                async with asyncio.timeout(seconds):
                    return await self._ask(peer, text, hops=hops, conversation=conversation, seconds=seconds)
            except TimeoutError as error:
                raise PeerFailure(f"it did not finish within {seconds:.0f} s") from error

    def _named(self, name: str) -> Peer:
        found = next((peer for peer in self._known if peer["name"] == name), None)
        if found is None:
            names = ", ".join(peer["name"] for peer in self._known) or "none at the moment"
            raise PeerFailure(f"there is no such peer; the peers are: {names}")
        return found

    def _next_hop(self) -> int:
        """The hop count for the next call. An engine does not say which of its turns makes a call, so the longest chain
        that waits for this agent counts.
        Raises PeerFailure if the chain is too long.
        """
        hops = self._tasks.longest_chain() + 1
        if hops > HOPS_AT_MOST:
            raise PeerFailure(f"this message has passed {HOPS_AT_MOST} agents already: answer it yourself")
        return hops

    def _seconds(self, hops: int) -> float:
        seconds = CALL_SECONDS - SECONDS_PER_HOP * (hops - 1)
        left = self._turns.seconds_left()
        return max(min(seconds, left - RESERVE_SECONDS), LEAST_SECONDS) if left is not None else seconds

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._open >= CALLS_AT_ONCE:
            raise PeerFailure(f"{CALLS_AT_ONCE} calls to peers are under way; try again when one has ended")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def _ask(self, peer: Peer, text: str, *, hops: int, conversation: str | None, seconds: float) -> PeerAnswer:
        offer = await self._offer(peer["url"])
        marks = self._turns.marks(peer.get("token"))
        params = offer.wire.message(text, hops=hops, conversation=conversation, marks=marks)
        said = await self._call(peer, offer, offer.wire.send, params, seconds)
        while said.goes_on and said.task_id:
            await asyncio.sleep(POLL_SECONDS)
            said = await self._call(peer, offer, offer.wire.get, {"id": said.task_id}, seconds)
        return said

    async def _call(
        self, peer: Peer, offer: PeerOffer, method: str, params: dict[str, Any], seconds: float
    ) -> PeerAnswer:
        token = peer.get("token")
        headers = {VERSION_HEADER: offer.wire.version, **({"Authorization": f"Bearer {token}"} if token else {})}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        networks = self._pod.secrets.peer_networks
        try:
            answer = await exchange(offer.url, networks=networks, headers=headers, body=body, seconds=seconds)
            return wire.read(_result(answer))
        except PeerFailure:
            self._offers.pop(peer["url"], None)  # the peer's card may have changed
            raise
        except RecursionError as error:
            raise PeerFailure("its answer is nested too deeply") from error

    async def _offer(self, url: str) -> PeerOffer:
        known = self._offers.get(url)
        if known and time.monotonic() - known[1] < CARD_AGE_SECONDS:
            return known[0]
        offer = await cards.find(url, networks=self._pod.secrets.peer_networks)
        self._forget_others()
        self._offers[url] = (offer, time.monotonic())
        return offer

    def _forget_others(self) -> None:
        """Keep only the offers of current peers, so that the number of offers stays limited."""
        urls = {peer["url"] for peer in self._known}
        self._offers = {url: kept for url, kept in self._offers.items() if url in urls}


def _result(answer: dict[str, Any]) -> Any:
    error = answer.get("error")
    if error:
        said = error.get("message") if isinstance(error, dict) else None
        words = " ".join(str(said).split())[:ERROR_CHARACTERS].encode("utf-8", "replace").decode()
        raise PeerFailure(f"it refused: {words}")
    return answer.get("result")
