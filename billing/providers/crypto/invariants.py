"""Checks of what must always be true of stablecoins: each transfer is in the books exactly once, to the last unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from billing.providers.crypto.settling import LATE

# After an order was paid by its balance, its transfers may still be unknown for this long.
READ_WITHIN = timedelta(hours=1)
DECIDED_WITHIN = LATE + timedelta(days=3)  # by then a deposit has paid an order or can no longer pay one
MOST = 1_000  # findings of one check

# One pass over the deposits and one over their payments. No query for each address.
_BALANCED = """
WITH came AS (
    SELECT deposit_address_id, chain_id, asset, sum(amount) AS total,
        coalesce(sum(amount) FILTER (WHERE unapplied <> ''), 0) AS unapplied,
        coalesce(sum(amount) FILTER (WHERE unapplied = '' AND order_id IS NULL), 0) AS open
    FROM billing_deposit GROUP BY 1, 2, 3
), credited AS (
    SELECT o.deposit_address_id, o.chain_id, o.asset, sum(p.amount) AS total,
        bool_or(o.tx_hash IS NULL AND p.at > %(unread)s) AS unread
    FROM billing_payment p JOIN billing_cryptoorder o ON o.order_ptr_id = p.order_id
    WHERE p.subscription_id IS NOT NULL AND p.kind = 'payment' GROUP BY 1, 2, 3
)
SELECT a.address, asset, chain_id, coalesce(came.total, 0), coalesce(credited.total, 0), coalesce(came.unapplied, 0),
    coalesce(came.open, 0)
FROM came FULL JOIN credited USING (deposit_address_id, chain_id, asset)
JOIN billing_depositaddress a ON a.id = deposit_address_id
WHERE coalesce(came.total, 0) <> coalesce(credited.total, 0) + coalesce(came.unapplied, 0) + coalesce(came.open, 0)
    AND NOT coalesce(credited.unread, false)
LIMIT %(most)s
"""
_AS_ORDERED = """
SELECT o.order_ptr_id, o.credited, p.amount, p.over, o.amount, coalesce(d.total, 0)
FROM billing_cryptoorder o
JOIN billing_order b ON b.id = o.order_ptr_id AND b.status = 'paid'
JOIN billing_payment p ON p.order_id = o.order_ptr_id AND p.kind = 'payment' AND p.subscription_id IS NOT NULL
LEFT JOIN (
    SELECT order_id, sum(amount) AS total FROM billing_deposit WHERE order_id IS NOT NULL GROUP BY 1
) d ON d.order_id = o.order_ptr_id
WHERE p.amount <> o.credited OR p.over <> o.credited - o.amount OR o.credited < o.amount
    OR (coalesce(d.total, 0) <> o.credited AND (o.tx_hash IS NOT NULL OR p.at <= %(unread)s))
LIMIT %(most)s
"""
_SWEPT = """
SELECT a.address, s.asset, s.chain_id, s.total, coalesce(d.total, 0)
FROM (SELECT deposit_address_id, chain_id, asset, sum(amount) AS total FROM billing_sweep GROUP BY 1, 2, 3) s
LEFT JOIN (
    SELECT deposit_address_id, chain_id, asset, sum(amount) AS total FROM billing_deposit GROUP BY 1, 2, 3
) d USING (deposit_address_id, chain_id, asset)
JOIN billing_depositaddress a ON a.id = s.deposit_address_id
WHERE s.total > coalesce(d.total, 0)
LIMIT %(most)s
"""
_BOUGHT = """
SELECT s.id, s.agent_id, s.tier, s.provider FROM billing_subscription s
WHERE s.status IN ('active', 'canceled') AND s.provider IN ('usdt', 'usdc') AND EXISTS (
    SELECT 1 FROM billing_payment p WHERE p.subscription_id = s.id AND p.kind = 'payment' AND p.currency <> ''
) AND NOT EXISTS (
    SELECT 1 FROM billing_payment p JOIN billing_order o ON o.id = p.order_id
    WHERE p.subscription_id = s.id AND o.status = 'paid' AND o.provider = s.provider AND o.tier = s.tier
        AND o.agent_id = s.agent_id AND o.user_id = s.user_id
)
LIMIT %(most)s
"""
_OPEN = """
SELECT tx_hash, amount, asset, seen_at FROM billing_deposit
WHERE order_id IS NULL AND unapplied = '' AND seen_at < %(decided)s ORDER BY seen_at LIMIT %(most)s
"""


def _ask(statement: str, now: datetime) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"unread": now - READ_WITHIN, "decided": now - DECIDED_WITHIN, "most": MOST})
        return list(cursor.fetchall())


def _deposits_are_credits_and_unapplied(now: datetime) -> Iterator[str]:
    for address, asset, chain_id, came, credited, unapplied, open_ in _ask(_BALANCED, now):
        yield (
            f"{address}: {came} of {asset} came on chain {chain_id}, but {credited} is credited,"
            f" {unapplied} bought nothing and {open_} is undecided"
        )


def _orders_are_credited_what_came(now: datetime) -> Iterator[str]:
    for order, credited, paid, over, amount, came in _ask(_AS_ORDERED, now):
        yield (
            f"{order} of {amount} has {credited} credited, but {came} came for it, and the ledger has {paid},"
            f" {over} of it too much"
        )


def _swept_is_what_came(now: datetime) -> Iterator[str]:
    for address, asset, chain_id, swept, came in _ask(_SWEPT, now):
        yield f"{address}: {swept} of {asset} was swept on chain {chain_id}, but only {came} is known to have come"


def _subscriptions_are_as_ordered(now: datetime) -> Iterator[str]:
    for row, agent, tier, provider in _ask(_BOUGHT, now):
        yield f"{row} of {agent} is {tier} by {provider}, but no paid order of that kind paid for it"


def _deposits_are_sorted_out(now: datetime) -> Iterator[str]:
    for tx_hash, amount, asset, seen_at in _ask(_OPEN, now):
        yield f"{amount} of {asset} in {tx_hash} came {seen_at:%Y-%m-%d %H:%M}, but it is not recorded what it bought"


CHECKS: list[Callable[[datetime], Iterator[str]]] = [
    _deposits_are_credits_and_unapplied,
    _orders_are_credited_what_came,
    _swept_is_what_came,
    _subscriptions_are_as_ordered,
    _deposits_are_sorted_out,
]
