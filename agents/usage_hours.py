"""What agents took of memory and disk in each hour of the last thirty days: the highest of its minutes.

The minute's measurement keeps the highest of the running hour in the row that it writes anyway. The first measurement
of a new hour copies what all agents had in the hours before into the history, by one statement for all of them.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection
from django.db.backends.utils import CursorWrapper

from agents.models import Agent, AgentQuota, UsageHour

HOUR = timedelta(hours=1)
KEPT = timedelta(days=30)
FORGOTTEN_AT_ONCE = 20_000

NEWEST = "(SELECT max(at) FROM agents_usagehour)"
_KEEP = """
    INSERT INTO agents_usagehour
        (at, agent_id, memory_used_bytes, memory_limit_bytes, disk_used_bytes, disk_total_bytes)
    SELECT date_trunc('hour', updated_at, 'UTC'), agent_id, hour_memory_bytes, memory_limit_bytes, hour_disk_bytes,
        disk_total_bytes
    FROM agents_agentquota
    WHERE updated_at >= %(since)s AND updated_at < %(hour)s
        AND (hour_memory_bytes IS NOT NULL OR hour_disk_bytes IS NOT NULL)
    ON CONFLICT DO NOTHING"""
_FORGET = """
    DELETE FROM agents_usagehour WHERE (at, agent_id) IN (
        SELECT at, agent_id FROM agents_usagehour WHERE at < %s ORDER BY at, agent_id LIMIT %s
    )"""

_ERASE = "DELETE FROM agents_usagehour WHERE at = ANY(%s) AND agent_id = ANY(%s)"


def beginning(at: datetime) -> datetime:
    """Of the hour."""
    return at.replace(minute=0, second=0, microsecond=0)


def keep(cursor: CursorWrapper, newest: datetime | None, *, now: datetime) -> None:
    """The hours that are over, before a measurement of a new one is written. `newest` is the newest that is kept."""
    hour = beginning(now)
    if newest is None or newest < hour - HOUR:
        cursor.execute(_KEEP, {"since": newest + HOUR if newest else hour - KEPT, "hour": hour})


def forget(*, now: datetime) -> None:
    """Hours that are too old, some at a time: each statement is a transaction of its own."""
    gone = FORGOTTEN_AT_ONCE
    while gone == FORGOTTEN_AT_ONCE:
        with connection.cursor() as cursor:
            cursor.execute(_FORGET, [now - KEPT, FORGOTTEN_AT_ONCE])
            gone = cursor.rowcount


def erase(agent_ids: list[str], *, now: datetime) -> None:
    """All that is known of these agents; what is too old goes by itself."""
    with connection.cursor() as cursor:
        cursor.execute(_ERASE, [hours(now), agent_ids])


def of(agent: Agent, *, now: datetime) -> list[UsageHour]:
    """Oldest first, the running hour among them.

    Each hour is looked up by itself, for the index is in the order of time.
    """
    kept = list(UsageHour.objects.filter(agent=agent, at__in=hours(now)).order_by("at"))
    running = _running(getattr(agent, "quota_snapshot", None))
    if running and running.at >= now - KEPT and (not kept or kept[-1].at < running.at):
        kept.append(running)
    return kept


def hours(now: datetime) -> list[datetime]:
    """Those of which something may be kept, oldest first."""
    return [beginning(now) - HOUR * ago for ago in reversed(range(KEPT // HOUR))]


def _running(snapshot: AgentQuota | None) -> UsageHour | None:
    """The hour of the last measurement, which may be no row of the history yet."""
    if snapshot is None:
        return None
    return UsageHour(
        at=beginning(snapshot.updated_at),
        agent_id=snapshot.agent_id,
        memory_used_bytes=snapshot.hour_memory_bytes,
        memory_limit_bytes=snapshot.memory_limit_bytes,
        disk_used_bytes=snapshot.hour_disk_bytes,
        disk_total_bytes=snapshot.disk_total_bytes,
    )
