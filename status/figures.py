"""The figures of the whole platform, for Prometheus (docs/reference/metrics.md). Beat alone tells them: there is one.

They are read from the database with a constant number of statements, at most twice a minute however often they are
asked for. While the database does not answer, `agentpods_figures_up` is 0 and the other figures are absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Count, Sum
from django.utils import timezone
from prometheus_client import REGISTRY, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from redis import RedisError

from agents.cause import Cause
from agents.models import Agent, AgentQuota, Desired, Status
from billing import invariants
from status import checks, components, loops, overdue
from status.bounded import BoundedCheck
from status.service_levels import levels
from webhooks.models import Delivery

FRESH_SECONDS = 30.0
LIMIT_SECONDS = 5.0
STATEMENT_SECONDS = 4
MOST_COUNTED = 100_000  # waiting deliveries: beyond that, the exact number says no more
OTHER = "OTHER"


class Figures(Collector):
    def __init__(self) -> None:
        self._check = BoundedCheck("figures", read, fresh=FRESH_SECONDS, limit=LIMIT_SECONDS)

    def describe(self) -> Iterator[Metric]:
        """Empty, so that registering this does not read the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        outcome = self._check.outcome()
        yield _one("figures_up", "Whether the figures of the platform could be read.", outcome.ok)
        yield from outcome.value or ()


def tell() -> None:
    """From now on this process tells the figures of the platform."""
    REGISTRY.register(Figures())


def read() -> list[Metric]:
    """All figures as they are now."""
    now = timezone.now()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(STATEMENT_SECONDS * 1000)])
        records = checks.database()
        found = [*_agents(), *_work(records, now=now), *_money(now=now), _usage(), *_service_levels(now=now)]
    return [*found, *_backups(records, now=now), *_loops(records, now=now), *_queues()]


def _agents() -> Iterator[Metric]:
    live = Agent.objects.exclude(status=Status.DELETED).values_list("status", "desired")
    states = GaugeMetricFamily("agentpods_agents", "Agents by state and wanted state.", labels=["status", "desired"])
    for status, desired, count in live.annotate(count=Count("pk")):
        states.add_metric([status, desired], count)
    yield states
    # A pod or an engine of somebody else may name a cause that we do not know: these are counted together.
    counts: dict[str, float] = {}
    failed = Agent.objects.filter(status=Status.FAILED, desired__in=(Desired.RUNNING, Desired.STOPPED))
    for cause, count in failed.values_list("cause").annotate(count=Count("pk")):
        name = cause if cause in Cause.__members__ else OTHER
        counts[name] = counts.get(name, 0) + count
    yield _by("agents_failed", "Failed agents by cause.", "cause", counts)


def _work(records: checks.Records, *, now: datetime) -> Iterator[Metric]:
    """How late each kind of work is: the age of what is overdue most, 0 if nothing is due."""
    late = overdue.seconds(now=now, backups=records.backups.oldest_due)
    yield _by("oldest_due_seconds", "How long the most overdue work of each kind waits.", "work", late)
    waiting = Delivery.objects.pending().values("pk")[:MOST_COUNTED].count()
    yield _one("deliveries_waiting", f"Deliveries that are not ended, {MOST_COUNTED} at most.", waiting)


def _money(*, now: datetime) -> Iterator[Metric]:
    """What must be 0 (billing/invariants.py)."""
    unpaid = invariants.unpaid_but_running(now)[: invariants.MOST].count()
    yield _one("unpaid_running_agents", "Agents that run although their free or paid time is over.", unpaid)
    stopped = invariants.paid_but_stopped(now)[: invariants.MOST].count()
    yield _one("paid_stopped_agents", "Agents that are paid for and still stopped as unpaid.", stopped)


def _usage() -> Metric:
    names = ("memory_used", "memory_limit", "disk_used", "disk_total")
    sums = AgentQuota.objects.aggregate(**{name: Sum(f"{name}_bytes") for name in names})
    sums = {name: sums[name] or 0 for name in names}
    return _by("usage_bytes", "Memory and disk of all agents, as measured last.", "kind", sums)


def _service_levels(*, now: datetime) -> Iterator[Metric]:
    """Today's events begin at 0 each day, which Prometheus takes for a restart of the counter."""
    events = CounterMetricFamily(
        "agentpods_slo_events", "Today's events of each service level.", labels=["slo", "outcome"]
    )
    for one in levels.kept_today(now=now):
        events.add_metric([one.level.name, levels.GOOD], one.good)
        events.add_metric([one.level.name, levels.BAD], one.bad)
    yield events
    targets = {level.name: level.target for level in levels.LEVELS}
    yield _by("slo_target_ratio", "The share of the events that must be good.", "slo", targets)
    left = {one.level.name: one.budget_left for one in levels.kept(now=now)}
    yield _by("slo_budget_left_ratio", "The part of the error budget of 30 days that is left.", "slo", left)


def _backups(records: checks.Records, *, now: datetime) -> Iterator[Metric]:
    backups, drills = records.backups, records.drills
    oldest = (now - backups.oldest).total_seconds() if backups.oldest else 0
    yield _one("backups_failing", "Agents whose last backup failed.", backups.failing)
    yield _one(
        "backups_too_old", "Running agents whose last backup is too old.", backups.old if backups.are_made else 0
    )
    yield _one("backups_oldest_age_seconds", "Age of the oldest backup of those.", oldest if backups.are_made else 0)
    yield _one("backups_well", "Whether backups are made as they should.", backups.are_well(now))
    yield _one("drills_well", "Whether test restores succeed.", not backups.are_made or drills.are_well(now))
    last = drills.last.timestamp() if drills.last else None
    yield _one("drill_last_timestamp_seconds", "When a backup was last restored as a test.", last)


def _loops(records: checks.Records, *, now: datetime) -> Iterator[Metric]:
    last = {name: at.timestamp() for name, at in records.loops.items() if name in loops.PERIODS}
    yield _by("loop_last_success_timestamp_seconds", "When each periodic job last succeeded.", "loop", last)
    late = {name: components.is_late(name, records.loops.get(name), now=now) for name in loops.PERIODS}
    yield _by("loop_late", "Whether a periodic job is late.", "loop", late)
    yield _one("mail_failing", "Whether the mail server takes no mail.", records.mail_failed_at is not None)
    yield _one("clusters_silent", "Clusters that no observer sees.", components.silent_clusters(records, now=now))


def _queues() -> Iterator[Metric]:
    try:
        lengths = checks.queue_lengths()
    except RedisError:
        yield _one("redis_up", "Whether Redis answers.", 0)
        return
    yield _one("redis_up", "Whether Redis answers.", 1)
    yield _by("queue_length", "Tasks that wait for a worker.", "queue", lengths)


def _one(name: str, words: str, value: float | None) -> Metric:
    """A figure without labels. None leaves it out."""
    return GaugeMetricFamily(f"agentpods_{name}", words, value=None if value is None else float(value))


def _by(name: str, words: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"agentpods_{name}", words, labels=[label])
    for value, count in values.items():
        family.add_metric([value], float(count))
    return family
