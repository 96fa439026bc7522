"""How much memory and disk agents used in each hour of the last thirty days: the highest measurement of the hour.

The minute's measurement keeps the highest value of the running hour in the row that it writes anyway. The first
measurement of a new hour copies the values of all agents for the hours before into the history, with one statement.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.backends.utils import CursorWrapper

from agents.models import Agent, AgentQuota, UsageHour
from config import sql

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
    """The beginning of the hour that has `at` in it."""
    return at.replace(minute=0, second=0, microsecond=0)


def keep(cursor: CursorWrapper, newest: datetime | None, *, now: datetime) -> None:
    """Store the hours that are over. Runs before a measurement of a new hour is written. `newest` is the newest stored
    hour."""
    hour = beginning(now)
    if newest is None or newest < hour - HOUR:
        cursor.execute(_KEEP, {"since": newest + HOUR if newest else hour - KEPT, "hour": hour})


def forget(*, now: datetime) -> None:
    """Delete hours that are too old, in parts: each statement is a transaction of its own."""
    while sql.execute(_FORGET, [now - KEPT, FORGOTTEN_AT_ONCE]) == FORGOTTEN_AT_ONCE:
        pass


def erase(agent_ids: list[str], *, now: datetime) -> None:
    """Delete all stored hours of these agents. Hours that are too old are deleted by `forget`."""
    sql.execute(_ERASE, [hours(now), agent_ids])


def of(agent: Agent, *, now: datetime) -> list[UsageHour]:
    """The hours of an agent, the oldest first; the running hour is the last.

    Each hour is looked up alone, because the index is in the order of time.
    """
    kept = list(UsageHour.objects.filter(agent=agent, at__in=hours(now)).order_by("at"))
    running = _running(getattr(agent, "quota_snapshot", None))
    if running and running.at >= now - KEPT and (not kept or kept[-1].at < running.at):
        kept.append(running)
    return kept


def hours(now: datetime) -> list[datetime]:
    """The hours of which something may be stored, the oldest first."""
    return [beginning(now) - HOUR * ago for ago in reversed(range(KEPT // HOUR))]


def _running(snapshot: AgentQuota | None) -> UsageHour | None:
    """The hour of the last measurement, which may not be in the history yet."""
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
