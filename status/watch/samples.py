"""The samples of the platform's health: one for each half minute, whichever process took it.

The database gives the time, so that a wrong clock of one process does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from config import sql
from status.models import HealthSample

EVERY = timedelta(seconds=30)
KEPT = timedelta(days=8)  # the daily facts of service levels outlive them

_NOW = "date_bin('30 seconds', clock_timestamp() - make_interval(secs => %s), 'epoch'::timestamptz)"
_TAKEN = f"SELECT EXISTS (SELECT FROM status_healthsample WHERE at = {_NOW})"  # noqa: S608 # our own text
_STORE = f"""
INSERT INTO status_healthsample (at, down, requests, failed) VALUES ({_NOW}, %s, %s, %s)
ON CONFLICT (at) DO UPDATE SET
    requests = status_healthsample.requests + EXCLUDED.requests, failed = status_healthsample.failed + EXCLUDED.failed
RETURNING at, xmax = 0
"""  # noqa: S608 # our own text

_ADD = f"UPDATE status_healthsample SET requests = requests + %s, failed = failed + %s WHERE at = {_NOW}"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Answered:
    """Requests that web answered, and how many of them it failed."""

    requests: int = 0
    failed: int = 0


def is_taken() -> bool:
    """Whether some process has stored the sample of this half minute."""
    found: bool = sql.rows(_TAKEN, [0])[0][0]
    return found


def store(down: Sequence[str], answered: Answered, *, seconds_ago: float = 0) -> datetime | None:
    """Store a sample of now, or of so many seconds ago. Returns its time.

    If there is one of that half minute already, only the requests are added to it, and None is returned.
    """
    given = [seconds_ago, list(down), answered.requests, answered.failed]
    ((at, is_new),) = sql.rows(_STORE, given)
    return at if is_new else None


def add(answered: Answered) -> bool:
    """Add to the sample of this half minute. False: there is none."""
    return sql.execute(_ADD, [answered.requests, answered.failed, 0]) == 1


def forget(*, at: datetime) -> None:
    """Delete samples that are too old, and those of the future: the database's clock was wrong when it took them."""
    HealthSample.objects.filter(at__lt=at - KEPT).delete()
    HealthSample.objects.filter(at__gt=at + EVERY).delete()
