"""The good and bad events of one day, for the daily facts. Each reads that day's rows alone, by an index."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Min
from django.utils import timezone

from config import sql
from status.models import DailyFact, HealthSample
from status.overview.measures import Figure, UtcDay
from status.service_levels.levels import API, BAD, DELIVERIES, GOOD, RUNNING, ServiceLevel
from status.watch.samples import EVERY

# Each start that somebody or the platform asked for, and the next status after it. The first start of an agent changes
# no status: its row says that it was created. A start that its owner ended before the time was over is neither good nor
# bad.
_STARTS = """
SELECT count(*) FILTER (WHERE next.to_status = 'running' AND next.at <= asked.at + %(within)s),
    count(*) FILTER (WHERE next.at IS NULL OR next.to_status = 'failed' OR next.at > asked.at + %(within)s)
FROM agents_transition asked LEFT JOIN LATERAL (
    SELECT to_status, at FROM agents_transition
    WHERE agent_id = asked.agent_id AND at >= asked.at AND id > asked.id AND from_status <> to_status
    ORDER BY at, id LIMIT 1
) next ON true
WHERE asked.to_status = 'provisioning' AND (asked.from_status <> 'provisioning' OR asked.reason = 'create')
    AND asked.at >= %(first)s AND asked.at < %(after)s
"""
# Of events that arrived at the first attempt, which alone tells when that attempt began. A slow receiver delays its own
# events: they are not counted.
_DELIVERIES = """
SELECT count(*) FILTER (WHERE is_soon), count(*) FILTER (WHERE NOT is_soon) FROM (
    SELECT d.finished_at - d.duration_ms * interval '1 millisecond' <= d.created_at + %(within)s AS is_soon
    FROM webhooks_delivery d JOIN webhooks_hook h ON h.agent_id = d.agent_id AND NOT h.slow
    WHERE d.finished_at >= %(first)s AND d.finished_at < %(after)s AND d.state = 'delivered' AND d.attempts = 1
        AND NOT d.is_test AND d.resent_by = ''
) ended
"""


def api(day: UtcDay) -> Iterator[Figure]:
    first = _looked_at_since(day)
    if first is None:
        return
    end = min(day.after, _last_whole(timezone.now()))
    good = HealthSample.objects.filter(at__gte=first, at__lt=end).good().count()
    yield from _figures(day, API, good, max(0, (end - first) // EVERY - good))


def running(day: UtcDay) -> Iterator[Figure]:
    """A start belongs to the day on which its time is over, so that what is counted is decided."""
    within = RUNNING.within
    after = min(day.after, timezone.now())
    given = {"within": within, "first": day.first - within, "after": after - within}
    yield from _figures(day, RUNNING, *sql.rows(_STARTS, given)[0])


def deliveries(day: UtcDay) -> Iterator[Figure]:
    given = {"within": DELIVERIES.within, "first": day.first, "after": day.after}
    yield from _figures(day, DELIVERIES, *sql.rows(_DELIVERIES, given)[0])


def _figures(day: UtcDay, level: ServiceLevel, good: int, bad: int) -> Iterator[Figure]:
    """Never less than was measured before: events disappear with their agent, and counters must not fall."""
    before = dict(DailyFact.objects.filter(day=day.date, name=level.fact).values_list("key", "value"))
    for key, count in ((GOOD, good), (BAD, bad)):
        yield level.fact, key, max(count, int(before.get(key, 0)))


def _looked_at_since(day: UtcDay) -> datetime | None:
    """The start of the day, or on the first day of all the first sample."""
    if DailyFact.objects.filter(name=API.fact, day__lt=day.date).exists():
        return day.first
    first: datetime | None = HealthSample.objects.aggregate(first=Min("at"))["first"]
    return first and max(first, day.first)


def _last_whole(now: datetime) -> datetime:
    """The start of the last half minute: the sample of the one that runs may be missing still."""
    passed = timedelta(seconds=now.timestamp() % EVERY.total_seconds())
    return now - passed - EVERY


MEASURES = (api, running, deliveries)
