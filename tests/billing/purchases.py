"""What purchases amount to: a model of its own that only knows dates and prices."""

from __future__ import annotations

import calendar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from billing.vocabulary import Period

MONTHS = {Period.MONTHLY: 1, Period.ANNUAL: 12}


def months_after(moment: datetime, months: int, anchor: int) -> datetime:
    month = moment.year * 12 + moment.month - 1 + months
    year, number = divmod(month, 12)
    return moment.replace(year=year, month=number + 1, day=min(anchor, calendar.monthrange(year, number + 1)[1]))


@dataclass
class Paid:
    """What the agent has: of which tier, until when, on which day of a month, and what a day of it cost at least."""

    tier: str
    end: datetime
    anchor: int
    daily: Fraction


@dataclass
class Model:
    """Knows nothing of licences: while one is live it says nothing, and its word counts again when all is over."""

    paid: Paid | None = None
    events: int = 0
    rows: int = 0
    charged: dict[str, int] = field(default_factory=dict)

    def buy(self, tier: str, period: Period, usd: Decimal, now: datetime) -> None:
        daily = Fraction(usd) * 12 / MONTHS[period] / 365
        have = self.paid
        if have is not None and have.tier == tier:
            have.end = months_after(max(have.end, now), MONTHS[period], have.anchor)
            have.daily = min(have.daily, daily)
            return
        end, run = months_after(now, MONTHS[period], now.day), now
        if have is not None:
            seconds = Fraction(int(max(have.end - now, timedelta(0)).total_seconds())) * have.daily / daily
            end += timedelta(seconds=seconds.numerator // seconds.denominator)
            run = end if seconds >= 1 else now  # what is converted moves the end: a new run begins there
        self.paid = Paid(tier, end, run.day, daily)

    def time(self, now: datetime) -> None:
        if self.paid is not None and self.paid.end <= now:
            self.paid = None
