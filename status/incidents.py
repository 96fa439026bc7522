"""Incidents: what an operator tells customers about them, and on which days there was one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db.models import Prefetch, Window
from django.db.models.functions import RowNumber

from status.models import Incident, IncidentUpdate

HISTORY_DAYS = 90
NEWEST = 100  # how many are read and shown
NEWEST_UPDATES = 20  # of each, on the page and in the feed


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the history. `hurt` is None (unknown) on a day before the oldest incident that is read."""

    day: date
    hurt: bool | None


def newest() -> list[Incident]:
    """The newest incidents, each with its newest updates. Two statements."""
    place = Window(RowNumber(), partition_by="incident", order_by=("-at", "-id"))
    updates = IncidentUpdate.objects.annotate(place=place).filter(place__lte=NEWEST_UPDATES)
    return list(Incident.objects.prefetch_related(Prefetch("updates", updates))[:NEWEST])


def tell(incident: Incident, *, text: str, now: datetime) -> None:
    """Add the current status and text to the incident's updates, if something is new."""
    last = incident.updates.first()
    if text or last is None or last.status != incident.status:
        IncidentUpdate.objects.create(incident=incident, at=now, status=incident.status, text=text)


def history(components: Collection[str], incidents: Sequence[Incident], *, now: datetime) -> list[Day]:
    """The last HISTORY_DAYS days in UTC, oldest first, and whether an incident named one of the components on each."""
    today = now.astimezone(UTC).date()
    hurt = {day for one in incidents if not set(components).isdisjoint(one.components) for day in _days(one, today)}
    known_since = incidents[-1].started_at.astimezone(UTC).date() if len(incidents) >= NEWEST else date.min
    days = [today - timedelta(days=ago) for ago in reversed(range(HISTORY_DAYS))]
    return [Day(day, True if day in hurt else False if day >= known_since else None) for day in days]


def _days(incident: Incident, today: date) -> list[date]:
    """The days of the history on which the incident was open."""
    first = max(incident.started_at.astimezone(UTC).date(), today - timedelta(days=HISTORY_DAYS))
    last = incident.resolved_at.astimezone(UTC).date() if incident.resolved_at else today
    return [first + timedelta(days=number) for number in range((min(last, today) - first).days + 1)]
