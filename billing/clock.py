"""A worker whose clock is wrong takes no step of anybody's term (facts: billing 7.66).

All times are UTC, so no summer time moves them. What a worker's clock says is compared with the database's, which all
workers share: too early would stop and delete what is paid for.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

MOST = timedelta(minutes=1)


class ClockDiffers(RuntimeError):
    """The machine's time is not kept: its loop fails, which the platform's status shows."""


def now() -> datetime:
    """This process's time, in UTC. Raises ClockDiffers when it is more than a minute off the database's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    ours, theirs = timezone.now(), row[0]
    if abs(ours - theirs) > MOST:
        raise ClockDiffers(f"{ours:%Y-%m-%d %H:%M:%S} here, {theirs:%Y-%m-%d %H:%M:%S} in the database")
    return ours
