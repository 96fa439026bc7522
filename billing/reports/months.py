"""Ranges of whole months in UTC, for reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from dateutil.relativedelta import relativedelta

from config.errors import BadRequest

MOST = 120  # months in one report


@dataclass(frozen=True, slots=True)
class Months:
    """From the first moment of a month to the first moment after the last month."""

    first: datetime
    after: datetime

    @property
    def names(self) -> tuple[str, str]:
        """The first and the last month as text: `2026-11`."""
        return f"{self.first:%Y-%m}", f"{self.after - relativedelta(months=1):%Y-%m}"


def months(first: str, last: str) -> Months:
    """The range from one month to another.

    Raises BadRequest for a wrong month, a wrong order, or more than ten years.
    """
    found = Months(_month("from", first), _month("to", last) + relativedelta(months=1))
    if found.after <= found.first:
        raise BadRequest("to: must not be before from")
    if found.after > found.first + relativedelta(months=MOST):
        raise BadRequest(f"to: at most {MOST} months after from")
    return found


def year_so_far(*, now: datetime) -> Months:
    """The last twelve months, including the current one."""
    this = month_of(now)
    return Months(this - relativedelta(months=11), this + relativedelta(months=1))


def month_of(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _month(name: str, typed: str) -> datetime:
    try:
        found = datetime.strptime(typed, "%Y-%m").replace(tzinfo=UTC)
    except ValueError as error:
        raise BadRequest(f"{name}: {typed[:20]!r} is not a month; write it as 2026-11") from error
    if not 2000 <= found.year <= 2200:
        raise BadRequest(f"{name}: the year must be from 2000 to 2200")
    return found
