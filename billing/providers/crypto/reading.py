"""One reading of the chain by one node: balances of addresses, and transfers to them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from billing.models import CryptoOrder
from billing.providers.crypto import tokens
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.errors import EndpointFailed
from billing.providers.crypto.rpc import Call, Node, NodeError, block, block_in
from billing.providers.crypto.tokens import Transfer

log = logging.getLogger(__name__)

SPANS = 100  # ranges of blocks that one run reads at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The balance of an address at a block, and the block's hash, which shows whether the chain replaced the block."""

    balance: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Balances:
    """The balances of one order's address. None where it was not asked for, or the node no longer has the block."""

    final: int | None
    latest: int
    baseline: Before | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReading:
    final: int
    latest: int
    time: int
    seen: dict[str, Balances]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The transfers up to and including a block. `transfers` is None if they could not be read."""

    transfers: list[Transfer] | None
    to: int


def look(node: Node, orders: Sequence[CryptoOrder]) -> ChainReading:
    """Read the balances at the newest and the final block, and once at the block of the baseline."""
    calls: list[Call] = []
    places: list[dict[str, int]] = []
    names: dict[int, int] = {}  # block -> index of its call; many orders share a block
    for order in orders:
        blocks = _blocks(order, node)
        places.append({name: len(calls) + index for index, name in enumerate(blocks)})
        calls += [tokens.balance(order.token, order.deposit_address.address, block=at) for at in blocks.values()]
        if (at := blocks.get("baseline")) is not None:
            if names.setdefault(at, len(calls)) == len(calls):
                calls.append(block(at))
            places[-1]["hash"] = names[at]
    answers = node.batch(calls)
    return ChainReading(
        final=node.final,
        latest=node.latest.number,
        time=node.latest.timestamp,
        seen={order.pk: _seen(place, answers) for order, place in zip(orders, places, strict=True)},
    )


def _blocks(order: CryptoOrder, node: Node) -> dict[str, int]:
    """The blocks at which the order's balance is needed."""
    blocks = {"latest": node.latest.number}
    if node.final > order.baseline_block:
        blocks["final"] = node.final
    if node.final >= order.baseline_block and not order.baseline_final:
        blocks["baseline"] = order.baseline_block
    return blocks


def _seen(place: dict[str, int], answers: Sequence[object]) -> Balances:
    return Balances(
        final=tokens.balance_in(answers[place["final"]]) if "final" in place else None,
        latest=tokens.balance_in(answers[place["latest"]]),
        baseline=before_in(answers[place["baseline"]], answers[place["hash"]]) if "baseline" in place else None,
    )


def before_in(balance: object, named: object) -> Before | None:
    """None if the node no longer has the state of that block."""
    if isinstance(balance, NodeError) or isinstance(named, NodeError):
        return None
    return Before(balance=tokens.balance_in(balance), hash=block_in(named).hash)


def moved(node: Node, settings: Configuration, receivers: Sequence[str], *, first: int) -> Moved:
    """The transfers from block `first` on, up to the final block or as far as one run may read."""
    to = min(node.final, first - 1 + SPANS * settings.log_range)
    return Moved(transfers=transfers(node, settings, receivers, first=first, last=to), to=to)


def transfers(
    node: Node, settings: Configuration, receivers: Sequence[str], *, first: int, last: int
) -> list[Transfer] | None:
    """None if this node does not return transfers; then only the balances are known."""
    known = list(settings.assets)
    if not receivers:
        return []
    try:
        return list(tokens.transfers(node, known, receivers, first=first, last=last, step=settings.log_range))
    except EndpointFailed as failure:
        log.warning("transfers could not be read: %s", failure, extra={"endpoint": node.name})
        return None
