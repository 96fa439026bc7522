"""The minute's measurement of all pods: one call of the runtime, one UPDATE of all snapshots, then the changes of
status.

The database joins samples with agents, writes limits and windows, and returns only agents whose status may change. So
of ten thousand calm agents no row comes into Python. There are ten statements at most, however many agents there are.
Only a stop for quota is made for each agent alone, because it goes through the life cycle with its timeline and its
event.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.utils import timezone

from agents.models import Agent, QuotaStatus, Reason
from agents.running import lifecycle
from agents.runtimes import current_runtime
from agents.runtimes.base import Usage
from agents.watching import quota, usage_hours
from agents.watching.quota import Move, QuotaState
from catalog import snapshot

log = logging.getLogger(__name__)

ADVISORY_LOCK = 0x51_0717_A5
# A task that runs twice must not count the same minute twice.
LEAST_GAP = timedelta(seconds=30)

# Only names of this form belong to agents. A match needs no quotes in an array, and the number fits PostgreSQL's
# integer.
_OURS = re.compile(r"pod-([0-9a-z-]+)-([1-9][0-9]{0,8})")

# The best plan depends on the number of pods, which PostgreSQL sees only in the arrays. A generic plan would look up
# each agent alone.
_BEGIN = (
    "SELECT pg_try_advisory_xact_lock(%s), set_config('plan_cache_mode', 'force_custom_plan', true),"
    f" {usage_hours.NEWEST}"
)

# A sample without a band does not count. Either memory or disk is unknown, or the pod is to be stopped, or it makes a
# backup, whose memory is measured together with the agent's.
_SAMPLE = f"""
    WITH tier (id, memory, disk) AS (
        SELECT * FROM unnest(%(tiers)s::text[], %(tier_memory)s::bigint[], %(tier_disk)s::bigint[])
    ), sample AS (
        SELECT a.id, m.memory, tier.memory AS memory_limit, m.disk, tier.disk AS disk_limit,
            CASE WHEN a.desired = 'running' AND m.memory IS NOT NULL AND m.disk IS NOT NULL
                AND NOT EXISTS (SELECT FROM agents_backup b WHERE b.agent_id = a.id AND b.stage = 'running')
                THEN greatest(m.memory::float8 / tier.memory, m.disk::float8 / tier.disk) END AS pct
        FROM unnest(%(suffixes)s::text[], %(generations)s::int[], %(memory)s::bigint[], %(disk)s::bigint[])
            AS m(suffix, generation, memory, disk)
        JOIN agents_agent a ON a.suffix = m.suffix AND a.generation = m.generation AND a.status <> 'deleted'
        JOIN tier ON tier.id = a.tier
    ), banded AS (
        SELECT sample.*, {quota.band_sql("pct")} AS band FROM sample
    )"""  # noqa: S608 # our own letters and borders
_UPDATE = f"""{_SAMPLE}, written AS (
        UPDATE agents_agentquota q
        SET memory_used_bytes = s.memory, memory_limit_bytes = s.memory_limit,
            disk_used_bytes = s.disk, disk_total_bytes = s.disk_limit, updated_at = %(now)s,
            hour_memory_bytes = greatest(s.memory, CASE WHEN q.updated_at >= %(hour)s THEN q.hour_memory_bytes END),
            hour_disk_bytes = greatest(s.disk, CASE WHEN q.updated_at >= %(hour)s THEN q.hour_disk_bytes END),
            recent = CASE WHEN s.band IS NULL OR q.status = 'paused' THEN q.recent
                ELSE right(q.recent || s.band, {quota.WINDOW}) END
        FROM banded s
        WHERE q.agent_id = s.id AND q.updated_at NOT BETWEEN %(lately)s AND %(now)s
        RETURNING q.status || s.band = ANY(%(may_move)s) AS may_move,
            s.id, q.status, q.recent, q.since, s.memory, s.memory_limit, s.disk, s.disk_limit
    )
    SELECT written.*, total FROM (SELECT count(*) FROM written) AS counted (total) LEFT JOIN written ON may_move"""  # noqa: S608
_INSERT = f"""{_SAMPLE}
    INSERT INTO agents_agentquota (agent_id, memory_used_bytes, memory_limit_bytes, disk_used_bytes, disk_total_bytes,
        status, recent, since, updated_at, hour_memory_bytes, hour_disk_bytes)
    SELECT id, memory, memory_limit, disk, disk_limit, 'ok', coalesce(band, ''), %(now)s, %(now)s, memory, disk
    FROM banded s
    WHERE NOT EXISTS (SELECT FROM agents_agentquota q WHERE q.agent_id = s.id)
    ON CONFLICT DO NOTHING"""  # noqa: S608


class Measurement(NamedTuple):
    """One agent's measurement, and the state of its quota before it."""

    agent_id: str
    was: QuotaState
    memory: float
    disk: float

    @property
    def words(self) -> str:
        return f"memory {self.memory:.0%}, disk {self.disk:.0%}"


def sample(now: datetime | None = None) -> int:
    """Measure every pod and store the snapshots. Returns how many snapshots were written."""
    now = now or timezone.now()
    return record(current_runtime().usage(), now=now)


def record(samples: Mapping[str, Usage], *, now: datetime) -> int:
    """Store these measurements, given by namespace, and make the changes that follow. Returns how many snapshots were
    written.

    Ignored are namespaces that are unknown, foreign or of earlier generations, and agents measured less than half a
    minute ago.
    """
    written, readings = _write(samples, now)
    moves = [change for reading in readings if (change := _move_of(reading, now))]
    if lasting := [change for change in moves if change.to != QuotaStatus.PAUSED]:
        quota.move(lasting, now=now)
    for change in moves:
        if change.to == QuotaStatus.PAUSED:
            stop(change, now=now)
    return written


@transaction.atomic
def stop(change: Move, *, now: datetime) -> None:
    """The end of grace: `paused` and the request to stop are in one transaction. If a worker is killed before, both are
    made again."""
    agent = Agent.objects.lock(change.agent_id)
    if quota.move([change], now=now):
        log.info("an agent is stopped for quota", extra={"agent": agent.id, "usage": change.why})
        lifecycle.pause(agent, reason=Reason.QUOTA, actor=quota.ACTOR)


@transaction.atomic
def _write(samples: Mapping[str, Usage], now: datetime) -> tuple[int, list[Measurement]]:
    """Write the new snapshots with their windows. Returns their number, and the readings of agents whose status may
    change.

    Only one sampler writes at a time; when another one has the lock, that one writes this minute.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, [ADVISORY_LOCK])
        is_ours, _, newest = cursor.fetchone()
        if not is_ours:
            return 0, []
        usage_hours.keep(cursor, newest, now=now)
        usages = _usages(samples)
        times = {"now": now, "lately": now - LEAST_GAP, "hour": usage_hours.beginning(now)}
        values: dict[str, str | datetime] = {**_columns(usages), **_tiers(), **times}
        cursor.execute(_UPDATE, {**values, "may_move": sorted(quota.MAY_MOVE)})
        rows = cursor.fetchall()
        written: int = rows[0][-1]
        if written < len(usages):
            cursor.execute(_INSERT, values)
            written += cursor.rowcount
    return written, [_reading(row) for row in rows if row[0]]


def _usages(samples: Mapping[str, Usage]) -> list[tuple[str, str, int | None, int | None]]:
    """Suffix, generation, memory and disk of each pod of which memory or disk is known."""
    return [
        (match[1], match[2], usage.memory_bytes, usage.disk_bytes)
        for namespace, usage in samples.items()
        if (match := _OURS.fullmatch(namespace)) and (usage.memory_bytes is not None or usage.disk_bytes is not None)
    ]


def _columns(usages: list[tuple[str, str, int | None, int | None]]) -> dict[str, str]:
    suffixes, generations, memory, disk = zip(*usages, strict=True) if usages else ((), (), (), ())
    return {
        "suffixes": _array(suffixes),
        "generations": _array(generations),
        "memory": _array(memory),
        "disk": _array(disk),
    }


def _tiers() -> dict[str, str]:
    tiers = snapshot.current().tiers.values()
    return {
        "tiers": _array(tier.pk for tier in tiers),
        "tier_memory": _array(tier.memory_bytes for tier in tiers),
        "tier_disk": _array(tier.disk_bytes for tier in tiers),
    }


def _array(values: Iterable[str | int | None]) -> str:
    """An array as PostgreSQL writes it. None of our values needs quotes. The driver's own conversion would cost more
    time than the statement."""
    return f"{{{','.join(['NULL' if value is None else str(value) for value in values])}}}"


def _reading(row: tuple[Any, ...]) -> Measurement:
    _, agent_id, status, recent, since, memory, memory_limit, disk, disk_limit, _ = row
    was = QuotaState(QuotaStatus(status), recent[:-1], since)  # the last letter belongs to this measurement
    return Measurement(agent_id, was, memory / memory_limit, disk / disk_limit)


def _move_of(reading: Measurement, now: datetime) -> Move | None:
    after = quota.step(reading.was, pct=max(reading.memory, reading.disk), now=now)
    if after.status == reading.was.status:
        return None
    return Move(agent_id=reading.agent_id, was=reading.was, to=after.status, why=reading.words)
