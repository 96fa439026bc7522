"""The daily facts: measured once a minute, kept for each day, and read by the overview."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial

from django.db import Error, connection, transaction
from redis.exceptions import RedisError

from status.models import DailyFact
from status.overview import measures
from status.overview.measures import Figure, UtcDay
from status.service_levels import measures as service_levels

log = logging.getLogger(__name__)

SHOWN_DAYS = 31
KEPT = timedelta(days=400)
SECONDS = 20  # of database time for each measure


@dataclass(slots=True)
class FactHistory:
    """The values of one fact: today's by key, and for each day the sum over its keys and the largest of them."""

    today: dict[str, Decimal] = field(default_factory=dict)
    days: dict[date, Decimal] = field(default_factory=dict)
    largest: dict[date, Decimal] = field(default_factory=dict)

    @property
    def total(self) -> Decimal:
        return sum(self.today.values(), Decimal(0))


def measure(*, now: datetime) -> None:
    """Measure everything and note it for today. The sums of yesterday are noted once more after its end.

    A measure that fails keeps its last values, and does not stop the others.
    """
    today = measures.day_of(now)
    for level in measures.LEVELS:
        _note(today, partial(level, now), now=now)
    yesterday = UtcDay(today.date - timedelta(days=1))
    for day in (today, *([yesterday] if _is_unfinished(yesterday) else [])):
        for daily in (*measures.SUMS, *service_levels.MEASURES):
            _note(day, partial(daily, day), now=now)
    DailyFact.objects.filter(day__lt=today.date - KEPT).delete()


def histories(*, now: datetime) -> tuple[Mapping[str, FactHistory], datetime | None]:
    """Each fact of the last SHOWN_DAYS days by its name, and when something was measured last. One statement."""
    today = measures.day_of(now).date
    found: defaultdict[str, FactHistory] = defaultdict(FactHistory)
    last: datetime | None = None
    rows = DailyFact.objects.filter(day__gt=today - timedelta(days=SHOWN_DAYS))
    for day, name, key, value, at in rows.values_list("day", "name", "key", "value", "measured_at").order_by("day"):
        of_fact = found[name]
        of_fact.days[day] = of_fact.days.get(day, Decimal(0)) + value
        of_fact.largest[day] = max(of_fact.largest.get(day, value), value)
        if day == today:
            of_fact.today[key] = value
            last = max(last or at, at)
    return found, last


def _is_unfinished(day: UtcDay) -> bool:
    """Whether the day's sums were last measured before its end."""
    noted = DailyFact.objects.filter(day=day.date)
    return noted.exists() and not noted.filter(measured_at__gte=day.after).exists()


def _note(day: UtcDay, measured: Callable[[], Iterable[Figure]], *, now: datetime) -> None:
    try:
        with transaction.atomic():
            _limit_time()
            figures = list(measured())
            _write(day, figures, now=now)
    except (Error, RedisError) as error:
        log.warning("a figure of the overview was not measured", extra={"why": str(error)})


def _write(day: UtcDay, figures: list[Figure], *, now: datetime) -> None:
    """Replace the day's rows of these facts. A key that is not measured any more is 0."""
    rows = {
        (name, key): DailyFact(day=day.date, name=name, key=key, value=value, measured_at=now)
        for name, key, value in figures
    }
    of_before = DailyFact.objects.filter(day=day.date, name__in={name for name, _, _ in figures})
    for name, key in of_before.values_list("name", "key"):
        rows.setdefault((name, key), DailyFact(day=day.date, name=name, key=key, value=0, measured_at=now))
    DailyFact.objects.bulk_create(
        rows.values(),
        update_conflicts=True,
        unique_fields=["day", "name", "key"],
        update_fields=["value", "measured_at"],
    )


def _limit_time() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(SECONDS * 1000)])
