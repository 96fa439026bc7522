"""The length of a period in calendar months. All renewals in a row end on the same day of the month, the anchor day.

All times are UTC. A customer who pays on 31 January is paid until 28 February, then until 31 March. Where a value is
converted into time, a day costs 1/365 of a year.
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
    """The time that `value` USD buys on a plan that costs `usd` per period. Whole seconds, rounded down."""
    seconds = value * int(YEAR.total_seconds()) / _yearly(usd, period)
    return timedelta(seconds=seconds.numerator // seconds.denominator)


def worth(length: timedelta, *, usd: Decimal, period: Period) -> Fraction:
    """The value in USD of this time on a plan that costs `usd` per period."""
    return _yearly(usd, period) * share(length, YEAR)


def share(length: timedelta, whole: timedelta) -> Fraction:
    """Which fraction of the whole this length is, exact."""
    return Fraction(length // timedelta.resolution, whole // timedelta.resolution)


def _yearly(usd: Decimal, period: Period) -> Fraction:
    return Fraction(usd) * 12 / MONTHS[period]
