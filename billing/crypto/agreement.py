"""What lay at an order's address before it, and what has come since, as far as most of the configured nodes agree.

One node reads the chain for all orders, and may lie or be wrong. So before a baseline is final, and before an order is
paid, each node is asked by itself, and a majority of all that are configured must say the same: of the balance, and for
payments of the transfers too. A node that does not answer agrees to nothing.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from billing.crypto import chain, tokens
from billing.crypto.configuration import Configuration
from billing.crypto.errors import Unknown
from billing.crypto.reading import Reading, transfers
from billing.crypto.rpc import Node, Refused
from billing.models import CryptoOrder

log = logging.getLogger(__name__)


def received(settings: Configuration, order: CryptoOrder, *, block: int, now: datetime, was_swept: bool = False) -> int:
    """Units of the token since the order's baseline, up to a final block: the most that a majority says.

    `was_swept`: what came has been taken away since, so transfers alone can tell. Never raises: what cannot be read has
    not come yet.
    """
    said = sorted((_said(settings, url, order, block, was_swept, now=now) for url in settings.urls), reverse=True)
    agreed = said[len(said) // 2]  # as many say so much or more as make a majority
    if agreed < order.amount:
        log.error("most nodes do not say that an order is paid", extra={"order": order.pk, "said": said})
    return agreed


def baselines(
    settings: Configuration, orders: Sequence[CryptoOrder], reading: Reading, *, now: datetime
) -> dict[str, int]:
    """By order, what lay at its address before it, where a majority says the same; `reading` is one node's word."""
    asked = [order for order in orders if reading.seen[order.pk].baseline is not None]
    if len(settings.urls) == 1 or not asked:
        return {order.pk: known for order in asked if (known := reading.seen[order.pk].baseline) is not None}
    words: dict[str, Counter[int]] = {order.pk: Counter() for order in asked}
    for url in settings.urls:
        for pk, balance in _balances_before(settings, url, asked, now=now).items():
            words[pk][balance] += 1
    most = {pk: said.most_common(1)[0] for pk, said in words.items() if said}
    return {pk: balance for pk, (balance, nodes) in most.items() if nodes > len(settings.urls) // 2}


def _balances_before(
    settings: Configuration, url: str, orders: Sequence[CryptoOrder], *, now: datetime
) -> dict[str, int]:
    """Of one node. What it has forgotten, or what is not final to it, it leaves out."""

    def work(node: Node) -> dict[str, int]:
        final = [order for order in orders if order.baseline_block <= node.final]
        calls = [
            tokens.balance(order.token, order.deposit_address.address, block=order.baseline_block) for order in final
        ]
        answers = zip(final, node.batch(calls), strict=True)
        return {order.pk: tokens.balance_in(answer) for order, answer in answers if not isinstance(answer, Refused)}

    try:
        return chain.read_by(url, settings, work, now=now)
    except Unknown:
        return {}


def _said(settings: Configuration, url: str, order: CryptoOrder, block: int, was_swept: bool, *, now: datetime) -> int:
    """Of one node, the lesser of what the balance grew by and what was transferred; 0 without an answer."""
    address = order.deposit_address.address

    def work(node: Node) -> int:
        last = min(block, node.final)
        found = transfers(node, settings, [address], first=order.baseline_block + 1, last=last) or []
        moved = sum(one.amount for one in found if one.token == order.token)
        if was_swept:
            return moved
        (balance,) = node.batch([tokens.balance(order.token, address, block=last)])
        return max(0, min(moved, tokens.balance_in(balance) - int(order.baseline)))

    try:
        return chain.read_by(url, settings, work, now=now)
    except Unknown:
        return 0
