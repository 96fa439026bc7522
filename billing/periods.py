"""How long a period is: calendar months, counted from a day of the month that a run of renewals keeps.

All in UTC. Who pays on 31 January is paid until 28 February, then until 31 March. Where value becomes time, a day costs
a 365th of what a year costs.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from dateutil.relativedelta import relativedelta

from billing.vocabulary import Period

MONTHS = {Period.MONTHLY: 1, Period.ANNUAL: 12}
YEAR = timedelta(days=365)


def end_of(start: datetime, period: Period, *, anchor_day: int) -> datetime:
    """The end of the period that begins at `start`: the anchor day of a later month, or that month's last day."""
    return start + relativedelta(months=MONTHS[period], day=anchor_day)


def bought_by(value: Fraction, *, usd: Decimal, period: Period) -> timedelta:
    """How long this value lasts, both in USD, on what costs `usd` for a period. Whole seconds, rounded down."""
    seconds = value * int(YEAR.total_seconds()) / _yearly(usd, period)
    return timedelta(seconds=seconds.numerator // seconds.denominator)


def worth(length: timedelta, *, usd: Decimal, period: Period) -> Fraction:
    """What so long costs, in USD, where a period costs `usd`."""
    return _yearly(usd, period) * share(length, YEAR)


def share(length: timedelta, whole: timedelta) -> Fraction:
    """The part that the length is of the whole, exactly."""
    return Fraction(length // timedelta.resolution, whole // timedelta.resolution)


def _yearly(usd: Decimal, period: Period) -> Fraction:
    return Fraction(usd) * 12 / MONTHS[period]
