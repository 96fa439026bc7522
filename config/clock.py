"""A process whose clock is wrong decides nothing about money: no worker, and no web process either.

All times are UTC, so no summer time moves them. What the process's clock says is compared with the database's, which
all processes share: too early would stop and delete what is paid for, too late would give time away. Pages that only
show something take the time without asking the database.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from config.errors import Unavailable

log = logging.getLogger(__name__)

MOST = timedelta(minutes=1)
AGAIN_SECONDS = 60


class ClockDiffers(Unavailable):
    """The machine's time is not kept. A loop fails, which the platform's status shows; a caller may try again."""

    def __init__(self, ours: datetime, theirs: datetime) -> None:
        told = f"{ours:%Y-%m-%d %H:%M:%S} here, {theirs:%Y-%m-%d %H:%M:%S} in the database"
        super().__init__(f"a server's clock is wrong, so nothing was done: {told}", retry_after=AGAIN_SECONDS)


def now() -> datetime:
    """This process's time, in UTC. Raises ClockDiffers when it is more than a minute off the database's."""
    ours, theirs = timezone.now(), of_the_database()
    if abs(ours - theirs) > MOST:
        log.error("this process's clock is wrong", extra={"ours": str(ours), "theirs": str(theirs)})
        raise ClockDiffers(ours, theirs)
    return ours


def of_the_database() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found
