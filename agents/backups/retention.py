"""Which backups of an agent are kept: those of the last 24 hours, then the newest of 7 days, of 4 weeks and of 3
months."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from agents.backups import stages
from agents.backups.models import Backup, Stage
from agents.models import Agent

FRESH = timedelta(hours=24)
MOST_FRESH = 24
DAILY, WEEKLY, MONTHLY = 7, 4, 3

Period = Callable[[datetime], object]
_PERIODS: tuple[tuple[int, Period], ...] = (
    (DAILY, lambda at: at.date()),
    (WEEKLY, lambda at: at.isocalendar()[:2]),
    (MONTHLY, lambda at: (at.year, at.month)),
)


def kept(taken: Iterable[datetime], *, now: datetime) -> set[datetime]:
    """Which of these backups are kept. Both sets are the times at which the backups were taken."""
    newest_first = sorted(taken, reverse=True)
    found = {at for at in newest_first[:MOST_FRESH] if now - at < FRESH}
    for most, period in _PERIODS:
        newest: dict[object, datetime] = {}
        for at in newest_first:
            newest.setdefault(period(at), at)
        found |= set(list(newest.values())[:most])
    return found


def apply(agent: Agent, *, now: datetime) -> None:
    """Mark the backups that are not kept for removal. Called in the transaction that records a new backup.

    Times are of our own clock, because a repository may claim any date.
    """
    there = list(Backup.objects.there().filter(agent=agent).only("pk", "taken_at"))
    keep = kept([backup.taken_at for backup in there if backup.taken_at], now=now)
    gone = [backup.pk for backup in there if backup.taken_at not in keep and backup.pk != agent.restores]
    stages.move(Backup.objects.filter(pk__in=gone), Stage.REMOVED, look_at=now)
