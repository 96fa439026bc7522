"""A process with a wrong clock makes no decision about money: no worker, and no web process either.

All times are UTC, so daylight saving time does not change them. The process compares its clock with the clock of the
database, which all processes share. A clock that is ahead would stop and delete agents that are paid for; a clock that
is behind would give time away. Pages that only show something use the local time without asking the database.
"""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta

from django.utils import timezone

from config import sql
from config.errors import Unavailable

log = logging.getLogger(__name__)

MOST = timedelta(minutes=1)
AGAIN_SECONDS = 60
HOLDS_SECONDS = 5
JUMP_SECONDS = 1


class _Comparison:
    """The last one that found both clocks alike, of this process."""

    at: tuple[datetime, float] | None = None


_compared = _Comparison()


class ClockDiffers(Unavailable):
    """The clock of this machine is wrong.

    A periodic job fails, and the platform's status shows that; a caller may try again.
    """

    def __init__(self, ours: datetime, theirs: datetime) -> None:
        told = f"{ours:%Y-%m-%d %H:%M:%S} here, {theirs:%Y-%m-%d %H:%M:%S} in the database"
        super().__init__(f"a server's clock is wrong, so nothing was done: {told}", retry_after=AGAIN_SECONDS)


def now() -> datetime:
    """This process's time, in UTC. Raises ClockDiffers if it differs from the database's time by more than a minute.

    The database is asked again after a few seconds, and at once when this process's clock has jumped.
    """
    ours, ticks = timezone.now(), time.perf_counter()
    if _runs_on(ours, ticks):
        return ours
    theirs = of_the_database()
    if abs(ours - theirs) > MOST:
        log.error("this process's clock is wrong", extra={"ours": str(ours), "theirs": str(theirs)})
        raise ClockDiffers(ours, theirs)
    _compared.at = ours, ticks
    return ours


def _runs_on(ours: datetime, ticks: float) -> bool:
    """Whether a comparison of a moment ago still holds: as much time has passed on this clock as really has."""
    if _compared.at is None:
        return False
    then, ticks_then = _compared.at
    passed = ticks - ticks_then
    return passed < HOLDS_SECONDS and abs((ours - then).total_seconds() - passed) < JUMP_SECONDS


def of_the_database() -> datetime:
    found: datetime = sql.rows("SELECT clock_timestamp()")[0][0]
    return found
