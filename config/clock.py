"""A process with a wrong clock makes no decision about money: no worker, and no web process either.

All times are UTC, so daylight saving time does not change them. The process compares its clock with the clock of the
database, which all processes share. A clock that is ahead would stop and delete agents that are paid for; a clock that
is behind would give time away. Pages that only show something use the local time without asking the database.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.utils import timezone

from config import sql
from config.errors import Unavailable

log = logging.getLogger(__name__)

MOST = timedelta(minutes=1)
AGAIN_SECONDS = 60


class ClockDiffers(Unavailable):
    """The clock of this machine is wrong.

    A periodic job fails, and the platform's status shows that; a caller may try again.
    """

    def __init__(self, ours: datetime, theirs: datetime) -> None:
        told = f"{ours:%Y-%m-%d %H:%M:%S} here, {theirs:%Y-%m-%d %H:%M:%S} in the database"
        super().__init__(f"a server's clock is wrong, so nothing was done: {told}", retry_after=AGAIN_SECONDS)


def now() -> datetime:
    """This process's time, in UTC. Raises ClockDiffers if it differs from the database's time by more than a minute."""
    ours, theirs = timezone.now(), of_the_database()
    if abs(ours - theirs) > MOST:
        log.error("this process's clock is wrong", extra={"ours": str(ours), "theirs": str(theirs)})
        raise ClockDiffers(ours, theirs)
    return ours


def of_the_database() -> datetime:
    found: datetime = sql.rows("SELECT clock_timestamp()")[0][0]
    return found
