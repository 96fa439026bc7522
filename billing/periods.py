"""How long a period is: calendar months, counted from a day of the month that a run of renewals keeps.

All in UTC. Who pays on 31 January is paid until 28 February, then until 31 March.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from dateutil.relativedelta import relativedelta

from billing.vocabulary import Period

MONTHS = {Period.MONTHLY: 1, Period.ANNUAL: 12}


def end_of(start: datetime, period: Period, *, anchor_day: int) -> datetime:
    """The end of the period that begins at `start`: the anchor day of a later month, or that month's last day."""
    return start + relativedelta(months=MONTHS[period], day=anchor_day)


def converted(left: timedelta, *, old_usd: Decimal, old: Period, new_usd: Decimal, new: Period) -> timedelta:
    """What remains of one plan as time of another: its value at the old daily price, bought at the new one.

    Whole seconds, rounded down (design: Billing). Time of a plan that cost nothing buys none; on one that costs
    nothing it stays as it is.
    """
    if new_usd == 0:
        return left
    worth = int(left.total_seconds()) * old_usd * MONTHS[new]  # products are exact, where daily prices are rounded
    return timedelta(seconds=int(worth // (new_usd * MONTHS[old])))
