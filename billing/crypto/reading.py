"""One look at the chain by one node: what addresses hold, and what was transferred to them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from billing.crypto import tokens
from billing.crypto.configuration import Configuration
from billing.crypto.errors import EndpointFailed
from billing.crypto.rpc import Call, Node, Refused
from billing.crypto.tokens import Transfer
from billing.models import CryptoOrder

log = logging.getLogger(__name__)

SPANS = 100  # of blocks that one run asks for transfers in, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one order's address holds; None where it was not asked for, or where nobody could say."""

    final: int | None
    latest: int
    baseline: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    final: int
    latest: int
    time: int
    seen: dict[str, Seen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was transferred up to and with a block; `transfers` is None when that could not be read."""

    transfers: list[Transfer] | None
    to: int


def look(node: Node, orders: Sequence[CryptoOrder]) -> Reading:
    """At the newest block, at the final one, and once at that of the baseline."""
    calls: list[Call] = []
    places: list[dict[str, int]] = []
    for order in orders:
        blocks = _blocks(order, node)
        places.append({name: len(calls) + index for index, name in enumerate(blocks)})
        calls += [tokens.balance(order.token, order.deposit_address.address, block=block) for block in blocks.values()]
    answers = node.batch(calls)
    return Reading(
        final=node.final,
        latest=node.latest.number,
        time=node.latest.timestamp,
        seen={order.pk: _seen(place, answers) for order, place in zip(orders, places, strict=True)},
    )


def _blocks(order: CryptoOrder, node: Node) -> dict[str, int]:
    """At which blocks an order's balance is wanted."""
    blocks = {"latest": node.latest.number}
    if node.final > order.baseline_block:
        blocks["final"] = node.final
    if node.final >= order.baseline_block and not order.baseline_final:
        blocks["baseline"] = order.baseline_block
    return blocks


def _seen(place: dict[str, int], answers: Sequence[object]) -> Seen:
    """A node may have forgotten how things stood at an old block; the others it must know."""
    then = answers[place["baseline"]] if "baseline" in place else None
    return Seen(
        final=tokens.balance_in(answers[place["final"]]) if "final" in place else None,
        latest=tokens.balance_in(answers[place["latest"]]),
        baseline=None if then is None or isinstance(then, Refused) else tokens.balance_in(then),
    )


def moved(node: Node, settings: Configuration, receivers: Sequence[str], *, first: int) -> Moved:
    """From a block on as far as it is final, or as one run may go."""
    to = min(node.final, first - 1 + SPANS * settings.log_range)
    return Moved(transfers=transfers(node, settings, receivers, first=first, last=to), to=to)


def transfers(
    node: Node, settings: Configuration, receivers: Sequence[str], *, first: int, last: int
) -> list[Transfer] | None:
    """None when this node gives none: the balances stand for themselves."""
    known = [token.address for token in settings.tokens.values()]
    if not receivers:
        return []
    try:
        return list(tokens.transfers(node, known, receivers, first=first, last=last, step=settings.log_range))
    except EndpointFailed as failure:
        log.warning("transfers could not be read: %s", failure, extra={"endpoint": node.name})
        return None
