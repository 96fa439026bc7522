"""The baseline of an order and the money since then, as a majority of the configured nodes reports them.

One node reads the chain for all orders, and it may be wrong or lie. So each node is asked by itself before an order is
placed, before its baseline is final, and before it is paid. A majority of all configured nodes must report the same:
the balance, and for payments the transfers too. A node that does not answer counts as not agreeing.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Q

from billing.models import CryptoOrder, Deposit
from billing.providers.crypto import chain, tokens
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.errors import Unknown
from billing.providers.crypto.reading import Before, ChainReading, before_in, transfers
from billing.providers.crypto.rpc import Node, block
from billing.providers.crypto.swept import Swept, swept
from billing.providers.crypto.tokens import Transfer

log = logging.getLogger(__name__)

T = TypeVar("T")

Spent = Mapping[tuple[str, str, str], set[str]]  # (transaction, receiver, token) -> the orders that this transfer paid


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedUnits:
    """The received units of each order since its baseline, up to `block`, which most nodes call final."""

    units: Mapping[str, int]
    block: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockHeights:
    """The newest block and the newest final block, of one node or of most nodes."""

    latest: int
    final: int


def received(settings: Configuration, orders: Sequence[CryptoOrder], *, block: int) -> ReceivedUnits:
    """What a majority reports for the same block: `block`, or an earlier one that is final for most nodes.

    So money after that block is never counted as received. Each node is asked once for all orders, so a node that hangs
    costs its time only once. A transfer that paid another order does not pay a second one, even if it appears again
    after this order's baseline. Never raises: money that cannot be read counts as not received yet.
    """
    if not orders:
        return ReceivedUnits(units={}, block=block)
    finals = {url: height.final for url, height in _all_heights(settings).items()}
    known = min(block, _reached(list(finals.values())))
    spent, taken = _spent(settings, orders), swept(orders)
    asked = [url for url, final in finals.items() if 0 <= known <= final]
    words = [_said(settings, url, orders, known, taken, spent) for url in asked]
    return ReceivedUnits(units={order.pk: _agreed(settings, order, words) for order in orders}, block=known)


def most(settings: Configuration, work: Callable[[Node], T]) -> T:
    """The answer that a majority of nodes gives.

    Stops asking once there is a majority. Raises Unknown if there is none.
    """
    said: Counter[T] = Counter()
    for url in settings.urls:
        try:
            word = chain.read_by(url, settings, work)
        except Unknown:
            continue
        said[word] += 1
        if said[word] > len(settings.urls) // 2:
            return word
    raise Unknown(f"most of {len(settings.urls)} endpoints do not agree: {len(said)} answers")


def heights(settings: Configuration) -> BlockHeights:
    """The newest blocks that most nodes have reached, so that one node cannot invent or hold back blocks.

    Raises Unknown.
    """
    known = _all_heights(settings).values()
    found = BlockHeights(latest=_reached([one.latest for one in known]), final=_reached([one.final for one in known]))
    if found.latest < 0:
        raise Unknown(f"most of {len(settings.urls)} endpoints do not answer")
    return found


def _all_heights(settings: Configuration) -> dict[str, BlockHeights]:
    return {url: _heights_of(settings, url) for url in settings.urls}


def _heights_of(settings: Configuration, url: str) -> BlockHeights:
    try:
        return chain.read_by(url, settings, lambda node: BlockHeights(latest=node.latest.number, final=node.final))
    except Unknown:
        return BlockHeights(latest=-1, final=-1)


def _reached(blocks: list[int]) -> int:
    """The newest block that a majority has reached. Less than 0 if most nodes do not answer."""
    return sorted(blocks, reverse=True)[len(blocks) // 2]


def _agreed(settings: Configuration, order: CryptoOrder, words: Sequence[Mapping[str, int]]) -> int:
    """The units that a majority reports, or 0."""
    said = Counter(word.get(order.pk, 0) for word in words)
    units, nodes = max(said.items(), key=lambda one: one[1], default=(0, 0))
    agreed = units if nodes > len(settings.urls) // 2 else 0
    if agreed < order.amount:
        log.error("most nodes do not confirm that an order is paid", extra={"order": order.pk, "said": dict(said)})
    return agreed


def baselines(settings: Configuration, orders: Sequence[CryptoOrder], reading: ChainReading) -> dict[str, Before]:
    """The baselines of these orders, if a majority reports the same. `reading` is the report of one node."""
    asked = [order for order in orders if reading.seen[order.pk].baseline is not None]
    if len(settings.urls) == 1:
        return {order.pk: known for order in asked if (known := reading.seen[order.pk].baseline) is not None}
    return balances(settings, [(order, order.baseline_block) for order in asked])


def balances(settings: Configuration, places: Sequence[tuple[CryptoOrder, int]]) -> dict[str, Before]:
    """What the orders' addresses held at these blocks, if a majority reports the same balance and block hash."""
    if not places:
        return {}
    words: dict[str, Counter[Before]] = {order.pk: Counter() for order, _ in places}
    for url in settings.urls:
        for pk, known in _balances_of(settings, url, places).items():
            words[pk][known] += 1
    most = {pk: said.most_common(1)[0] for pk, said in words.items() if said}
    return {pk: known for pk, (known, nodes) in most.items() if nodes > len(settings.urls) // 2}


def _balances_of(settings: Configuration, url: str, places: Sequence[tuple[CryptoOrder, int]]) -> dict[str, Before]:
    """The balances from one node. Left out where the node no longer has the block, or where it is not final yet."""

    def work(node: Node) -> dict[str, Before]:
        final = [(order, at) for order, at in places if at <= node.final]
        held = [tokens.balance(order.token, order.deposit_address.address, block=at) for order, at in final]
        numbers = list(dict.fromkeys(at for _, at in final))
        answers = node.batch([*held, *(block(at) for at in numbers)])
        named = dict(zip(numbers, answers[len(final) :], strict=True))
        told = {order.pk: before_in(balance, named[at]) for (order, at), balance in zip(final, answers, strict=False)}
        return {pk: known for pk, known in told.items() if known is not None}

    try:
        return chain.read_by(url, settings, work)
    except Unknown:
        return {}


def _spent(settings: Configuration, orders: Sequence[CryptoOrder]) -> Spent:
    """The transfers that already paid an order.

    A transfer that an operator decided about counts for an empty order id.
    """
    addresses = {order.deposit_address_id for order in orders}
    rows = Deposit.objects.filter(chain_id=settings.chain_id, deposit_address__in=addresses)
    used = rows.filter(Q(order__isnull=False) | Q(decision__isnull=False))
    spent: dict[tuple[str, str, str], set[str]] = {}
    for tx_hash, receiver, token, order in used.values_list("tx_hash", "deposit_address__address", "token", "order_id"):
        spent.setdefault((tx_hash, receiver, token), set()).add(order or "")
    return spent


def _said(
    settings: Configuration, url: str, orders: Sequence[CryptoOrder], until: int, taken: Swept, spent: Spent
) -> dict[str, int]:
    """The received units by order from one node: the smaller of the balance's growth and the transfers. Empty if no
    answer.

    Recorded sweeps are added to the balance. A transfer that the balance does not show is ignored.
    """

    def work(node: Node) -> dict[str, int]:
        if node.final < until:
            return {}
        moved = _moved(node, settings, orders, spent, last=until)
        asked = [tokens.balance(one.token, one.deposit_address.address, block=until) for one in orders]
        grown = {
            order.pk: tokens.balance_in(answer) - int(order.baseline) + taken.since(order, until=until)
            for order, answer in zip(orders, node.batch(asked), strict=True)
        }
        return {pk: max(0, min(moved[pk], grown[pk])) for pk in moved}

    try:
        return chain.read_by(url, settings, work)
    except Unknown:
        return {}


def _moved(
    node: Node, settings: Configuration, orders: Sequence[CryptoOrder], spent: Spent, *, last: int
) -> dict[str, int]:
    """The transfers to each order after its baseline, in units."""
    addresses = sorted({order.deposit_address.address for order in orders})
    first = min(order.baseline_block for order in orders) + 1
    found = transfers(node, settings, addresses, first=first, last=last) or []
    return {order.pk: sum(one.amount for one in found if _is_for(one, order, spent)) for order in orders}


def _is_for(one: Transfer, order: CryptoOrder, spent: Spent) -> bool:
    where = (one.receiver, one.token)
    if where != (order.deposit_address.address, order.token) or one.block <= order.baseline_block:
        return False
    return spent.get((one.tx_hash, *where), {order.pk}) == {order.pk}
