"""What the overview measures: levels of this moment, and sums of one day (UTC).

A measure yields figures: the name of the fact, a key within it ("" if it has only one), and the number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC as UTC_ZONE
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from django.db import connection
from django.db.models import Count

from accounts.models import User
from agents.backups import health
from agents.clusters import placement
from agents.models import Agent, Cluster, Status
from billing import invariants, waiting_money
from billing.reports import sales
from billing.reports.months import Months
from catalog.models import Persona
from catalog.models.authors import in_queue
from status import overdue
from status.checks import queue_lengths
from webhooks.models import Delivery

Figure = tuple[str, str, int | Decimal]

SOON = timedelta(days=3)  # a trial that ends within this time is counted
OLD_BACKUP, FAILED_BACKUP, FAILED_DRILL = "older than 36 hours", "last one failed", "last drill failed"
MOST = 1_000  # contradictions are counted up to here

_AGENTS = """
SELECT status, engine, tier, count(*) FROM agents_agent WHERE status <> 'deleted'
GROUP BY GROUPING SETS ((status), (engine), (tier))
"""


@dataclass(frozen=True, slots=True)
class UtcDay:
    """One day in UTC: `first` is its first moment, `after` the first moment of the next day."""

    date: date

    @property
    def first(self) -> datetime:
        return datetime.combine(self.date, time(), tzinfo=UTC_ZONE)

    @property
    def after(self) -> datetime:
        return self.first + timedelta(days=1)


def day_of(moment: datetime) -> UtcDay:
    return UtcDay(moment.astimezone(UTC_ZONE).date())


def agents(now: datetime) -> Iterator[Figure]:
    """Agents that are not deleted by status, engine and tier, in one scan of the table."""
    with connection.cursor() as cursor:
        cursor.execute(_AGENTS)
        for status, engine, tier, count in cursor.fetchall():
            name, key = next((name, key) for name, key in zip(_AGENTS_BY, (status, engine, tier), strict=True) if key)
            yield name, key, count


_AGENTS_BY = ("agents_by_status", "agents_by_engine", "agents_by_tier")


def trials(now: datetime) -> Iterator[Figure]:
    ending = Agent.objects.live().filter(paid=False, entitled_until__gte=now, entitled_until__lt=now + SOON)
    yield "trials_ending", "", ending.count()


def causes(now: datetime) -> Iterator[Figure]:
    failed = Agent.objects.filter(status=Status.FAILED).order_by().values_list("cause").annotate(Count("pk"))
    for cause, count in failed:
        yield "failures_by_cause", cause, count


def contradictions(now: datetime) -> Iterator[Figure]:
    yield "unpaid_but_running", "", invariants.unpaid_but_running(now)[:MOST].count()
    yield "paid_but_stopped", "", invariants.paid_but_stopped(now)[:MOST].count()


def open_money(now: datetime) -> Iterator[Figure]:
    for kind in waiting_money.kinds(now=now):
        yield "money_waiting", kind.title, kind.rows.order_by()[:MOST].count()


def reviews(now: datetime) -> Iterator[Figure]:
    yield "reviews", "", Persona.objects.filter(in_queue()).count()


def waiting_deliveries(now: datetime) -> Iterator[Figure]:
    pending = Delivery.objects.pending()
    yield "deliveries_waiting", "not tried yet", pending.filter(attempts=0).count()
    yield "deliveries_waiting", "failed so far", pending.filter(attempts__gt=0).count()


def queues(now: datetime) -> Iterator[Figure]:
    for name, length in queue_lengths().items():
        yield "queues", name, length


def backups_and_overdue_work(now: datetime) -> Iterator[Figure]:
    of_backups, drills = health.over_all(now=now)
    yield "backups", OLD_BACKUP, of_backups.old
    yield "backups", FAILED_BACKUP, of_backups.failing
    yield "backups", FAILED_DRILL, drills.failed
    if drills.last:
        yield "drill_hours", "", int((now - drills.last) / timedelta(hours=1))
    for work, waited in overdue.seconds(now=now, backups=of_backups.oldest_due).items():
        yield "overdue_seconds", work, int(waited)


def clusters(now: datetime) -> Iterator[Figure]:
    """The free places of each cluster that takes new agents."""
    for cluster in placement.with_placed(Cluster.objects.filter(cordoned=False)):
        yield "free_places", cluster.name, max(0, cluster.capacity - cluster.placed)  # type: ignore[attr-defined] # annotated


def money(day: UtcDay) -> Iterator[Figure]:
    """Received and returned USD by provider."""
    received: dict[str, Decimal] = {}
    returned: dict[str, Decimal] = {}
    for sale in sales.sales(Months(day.first, day.after)):
        provider = sale.group.provider
        received[provider] = received.get(provider, Decimal(0)) + sale.sums.received_usd
        returned[provider] = returned.get(provider, Decimal(0)) + sale.sums.returned_usd
    yield from (("received_usd", provider, usd) for provider, usd in received.items())
    yield from (("returned_usd", provider, usd) for provider, usd in returned.items())


def deliveries(day: UtcDay) -> Iterator[Figure]:
    ended = Delivery.objects.filter(finished_at__gte=day.first, finished_at__lt=day.after)
    for state, count in ended.order_by().values_list("state").annotate(Count("pk")):
        yield "deliveries_ended", state, count


def arrivals(day: UtcDay) -> Iterator[Figure]:
    within = {"created_at__gte": day.first, "created_at__lt": day.after}
    yield "new_people", "", User.objects.filter(**within).count()
    yield "new_agents", "", Agent.objects.filter(**within).count()


LEVELS: tuple[Callable[[datetime], Iterator[Figure]], ...] = (
    *(agents, trials, causes, contradictions, open_money, reviews, waiting_deliveries, queues),
    *(backups_and_overdue_work, clusters),
)
SUMS: tuple[Callable[[UtcDay], Iterator[Figure]], ...] = (money, deliveries, arrivals)
