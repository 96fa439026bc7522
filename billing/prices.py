"""Prices of plans, and snapshots of plans with their prices."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from billing.errors import NothingToPay
from billing.vocabulary import Period
from catalog.models import Tier
from catalog.tiers import tier_of


def price_of(tier: Tier, period: Period) -> Decimal:
    """The price of one period, in USD."""
    return tier.monthly_usd if period == Period.MONTHLY else tier.annual_usd


def listed(tier_id: str, snapshot: dict[str, Any], period: Period) -> Decimal:
    """The price in the snapshot, in USD. Older snapshots have no price; for these, today's price."""
    frozen = snapshot.get("monthlyUsd" if period == Period.MONTHLY else "annualUsd")
    return price_of(tier_of(tier_id), period) if frozen is None else Decimal(str(frozen))


def payable(tier: Tier, period: Period) -> Decimal:
    """The price of a period that can be ordered, in USD. Raises NothingToPay if it is 0."""
    price = price_of(tier, period)
    if not price:
        raise NothingToPay(tier.id, period)
    return price


def snapshot_of(tier_id: str, period: Period) -> dict[str, Any]:
    """The plan's fields as in docs/spec.md: Tier, and the period, for which orders have no field of their own."""
    tier = tier_of(tier_id)
    return {
        "id": tier.id,
        "name": tier.name,
        "spec": tier.spec,
        "monthlyUsd": _number(tier.monthly_usd),
        "annualUsd": _number(tier.annual_usd),
        "period": str(period),
    }


def _number(usd: Decimal) -> int | str:
    """USD for JSON without a float: whole dollars as an integer, other sums as exact text."""
    return int(usd) if usd == usd.to_integral_value() else str(usd)
