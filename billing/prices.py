"""What a period of a plan costs, and the plan as it was when that was said."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from billing.errors import NothingToPay
from billing.vocabulary import Period
from catalog.models import Tier
from catalog.tiers import tier_of


def price_of(tier: Tier, period: Period) -> Decimal:
    """In USD."""
    return tier.monthly_usd if period == Period.MONTHLY else tier.annual_usd


def listed(tier_id: str, snapshot: dict[str, Any], period: Period) -> Decimal:
    """The price that a frozen plan was offered at, in USD; of an older row without it, today's."""
    frozen = snapshot.get("monthlyUsd" if period == Period.MONTHLY else "annualUsd")
    return price_of(tier_of(tier_id), period) if frozen is None else Decimal(str(frozen))


def payable(tier: Tier, period: Period) -> Decimal:
    """The price of what an order can be placed for, in USD. Raises NothingToPay."""
    price = price_of(tier, period)
    if not price:
        raise NothingToPay(tier.id, period)
    return price


def snapshot_of(tier_id: str, period: Period) -> dict[str, Any]:
    """The fields of the spec's Tier, frozen, and the period, which orders have no field for."""
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
    """JSON without a float: whole dollars as a number, else the exact text."""
    return int(usd) if usd == usd.to_integral_value() else str(usd)
