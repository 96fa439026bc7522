"""Agents whose pod is not what their row says, found by one statement for the whole fleet."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import connection

# A join, because `= ANY(…)` with so many values would compare each agent with each pod.
_MARK = """
UPDATE agents_agent a SET reconcile_at = %(now)s
FROM (
    SELECT settled.id
    FROM agents_agent settled
    LEFT JOIN (SELECT DISTINCT unnest(%(healthy)s::text[]) AS suffix) healthy ON healthy.suffix = settled.suffix
    WHERE settled.desired = 'running' AND settled.reconcile_at IS NULL AND (
        settled.status = 'running' AND (healthy.suffix IS NULL OR settled.lost_since IS NOT NULL)
        OR settled.status = 'failed' AND healthy.suffix IS NOT NULL
    )
) drifted
WHERE a.id = drifted.id AND a.reconcile_at IS NULL
"""


def mark(healthy: Collection[str], *, now: datetime) -> int:
    """Make due every settled agent that has lost its healthy pod, or has one again. `healthy` are suffixes of pods."""
    with connection.cursor() as cursor:
        cursor.execute(_MARK, {"healthy": list(healthy), "now": now})
        return int(cursor.rowcount)
