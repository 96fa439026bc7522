"""How settings name a product's plan (a tier, `tiny`, or with a period, `tiny:monthly`), and how long it is paid."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dateutil.relativedelta import relativedelta

from billing.periods import MONTHS
from billing.vocabulary import Period


@dataclass(frozen=True, slots=True)
class Plan:
    tier: str
    period: Period | None


def plan_named(name: str) -> Plan:
    tier, _, period = name.partition(":")
    return Plan(tier, Period(period) if period else None)


def renewed_until(sold: datetime, period: Period, *, now: datetime) -> datetime:
    """The end of the current period: the first multiple of the period after the sale that is later than now."""
    step = MONTHS[period]
    count = max(1, ((now.year - sold.year) * 12 + now.month - sold.month) // step)
    while (till := sold + relativedelta(months=count * step)) <= now:
        count += 1
    return till
