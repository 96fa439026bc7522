"""The minute's measurement of all pods: one call of the runtime, one UPDATE of all snapshots, then what changed.

Ten statements at most, however many agents there are; only a stop for quota is made one by one, since it goes through
the life cycle with its timeline and its event.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import BooleanField, Case, F, Q, QuerySet, When
from django.db.models.expressions import RawSQL
from django.utils import timezone

from agents import lifecycle, quota
from agents.models import Agent, Desired, QuotaStatus, Reason, Status
from agents.quota import Move, Standing
from agents.reconciler import suffix_of
from agents.runtimes import current_runtime
from agents.runtimes.base import Usage
from catalog import snapshot
from catalog.models import Tier

log = logging.getLogger(__name__)

ADVISORY_LOCK = 0x51_0717_A5
# A task that runs twice must not count one minute as two.
LEAST_GAP = timedelta(seconds=30)

_STATUSES = {status.value: status for status in QuotaStatus}
_ROW = (
    *("id", "suffix", "generation", "tier", "desired"),
    *("quota_snapshot__status", "quota_snapshot__recent", "quota_since"),
)
_UPDATE = """
    UPDATE agents_agentquota q
    SET memory_used_bytes = m.memory_used, memory_limit_bytes = m.memory_limit,
        disk_used_bytes = m.disk_used, disk_total_bytes = m.disk_total,
        recent = right(q.recent || coalesce(m.band, ''), %s), updated_at = %s
    FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[])
        AS m(agent_id, memory_used, memory_limit, disk_used, disk_total, band)
    WHERE q.agent_id = m.agent_id"""
_INSERT = """
    INSERT INTO agents_agentquota (status, since, updated_at, agent_id, memory_used_bytes, memory_limit_bytes,
        disk_used_bytes, disk_total_bytes, recent)
    SELECT 'ok', %s, %s, agent_id, memory_used, memory_limit, disk_used, disk_total, coalesce(band, '')
    FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[])
        AS m(agent_id, memory_used, memory_limit, disk_used, disk_total, band)
    ON CONFLICT DO NOTHING"""


class Reading(NamedTuple):  # ten thousand a minute: a frozen dataclass takes four times as long to make
    """One agent's measurement. `was` is None before its first; without a `pct` it does not count."""

    agent_id: str
    memory: int | None
    disk: int | None
    tier: Tier
    was: Standing | None
    pct: float | None

    @property
    def band(self) -> str | None:
        return None if self.pct is None else quota.band_of(self.pct)

    @property
    def words(self) -> str:
        memory, disk = (self.memory or 0) / self.tier.memory_bytes, (self.disk or 0) / self.tier.disk_bytes
        return f"memory {memory:.0%}, disk {disk:.0%}"


def sample(now: datetime | None = None) -> int:
    """Measure every pod and write it down. Returns how many snapshots were written."""
    now = now or timezone.now()
    return record(current_runtime().usage(), now=now)


def record(samples: Mapping[str, Usage], *, now: datetime) -> int:
    """Write these measurements, by namespace, and what follows from them. Returns how many snapshots were written.

    Unknown, foreign and earlier generations' namespaces are ignored, and what was measured less than half a minute ago.
    """
    readings = _write(samples, now)
    moves = [change for reading in readings if (change := _move_of(reading, now))]
    if lasting := [change for change in moves if change.to != QuotaStatus.PAUSED]:
        quota.move(lasting, now=now)
    for change in moves:
        if change.to == QuotaStatus.PAUSED:
            stop(change, now=now)
    return len(readings)


@transaction.atomic
def stop(change: Move, *, now: datetime) -> None:
    """End of grace: `paused` and the request to stop are one transaction, so a killed worker's stop is made again."""
    agent = Agent.objects.select_for_update().get(pk=change.agent_id)
    if quota.move([change], now=now):
        log.info("an agent is stopped for quota", extra={"agent": agent.id, "usage": change.why})
        lifecycle.pause(agent, reason=Reason.QUOTA, actor=quota.ACTOR)


@transaction.atomic
def _write(samples: Mapping[str, Usage], now: datetime) -> list[Reading]:
    """The new snapshots, with their windows. One sampler at a time; another one's minute is not lost, it is written."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [ADVISORY_LOCK])
        if not cursor.fetchone()[0]:
            return []
        readings = list(_readings(samples, now))
        if known := [reading for reading in readings if reading.was]:
            cursor.execute(_UPDATE, [quota.WINDOW, now, *_arrays(known)])
        if fresh := [reading for reading in readings if not reading.was]:
            cursor.execute(_INSERT, [now, now, *_arrays(fresh)])
    return readings


def _readings(samples: Mapping[str, Usage], now: datetime) -> Iterator[Reading]:
    plans = snapshot.current().tiers
    for agent_id, suffix, generation, tier_id, desired, status, recent, since in _rows(samples, now):
        usage = samples.get(f"pod-{suffix}-{generation}")
        if usage is None or (usage.memory_bytes is None and usage.disk_bytes is None):
            continue
        tier = plans[tier_id]
        counts = desired == Desired.RUNNING and status != QuotaStatus.PAUSED
        was = Standing(_STATUSES[status], recent, since or now) if status else None
        yield Reading(agent_id, usage.memory_bytes, usage.disk_bytes, tier, was, _peak(usage, tier) if counts else None)


def _rows(samples: Mapping[str, Usage], now: datetime) -> QuerySet[Agent, tuple[Any, ...]]:
    """The agents of these pods with their quotas. Most are `ok`, where `since` is not asked for: reading it costs."""
    suffixes = [suffix_of(namespace) for namespace in samples]
    of_these = RawSQL("suffix = ANY(%s)", [suffixes], output_field=BooleanField())
    just_now = Q(quota_snapshot__updated_at__range=(now - LEAST_GAP, now))
    since = Case(When(quota_snapshot__status=QuotaStatus.OK, then=None), default=F("quota_snapshot__since"))
    rows = Agent.objects.filter(of_these).exclude(Q(status=Status.DELETED) | just_now)
    return rows.annotate(quota_since=since).values_list(*_ROW)


def _peak(usage: Usage, tier: Tier) -> float | None:
    """The larger share of the two; unknown when either is."""
    if usage.memory_bytes is None or usage.disk_bytes is None:
        return None
    return max(usage.memory_bytes / tier.memory_bytes, usage.disk_bytes / tier.disk_bytes)


def _arrays(readings: list[Reading]) -> list[str]:
    return [
        _array(reading.agent_id for reading in readings),
        _array(reading.memory for reading in readings),
        _array(reading.tier.memory_bytes for reading in readings),
        _array(reading.disk for reading in readings),
        _array(reading.tier.disk_bytes for reading in readings),
        _array(reading.band for reading in readings),
    ]


def _array(values: Iterable[str | int | None]) -> str:
    """PostgreSQL's own notation; none of our values needs quoting. The driver's would cost more than the statement."""
    return f"{{{','.join(['NULL' if value is None else str(value) for value in values])}}}"


def _move_of(reading: Reading, now: datetime) -> Move | None:
    if reading.was is None or reading.pct is None:
        return None
    after = quota.step(reading.was, pct=reading.pct, now=now)
    if after.status == reading.was.status:
        return None
    return Move(agent_id=reading.agent_id, was=reading.was, to=after.status, why=reading.words)
