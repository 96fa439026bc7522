"""Agents whose pod is not what their row says, found by one statement for the whole fleet."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import connection

# `IN (SELECT …)` looks up a hash; for `= ANY(…)` and for a join there are plans that compare each agent with each pod.
# The status is said twice for the partial index `agent_live`. A text is split sooner than an array is read.
_MARK = """
UPDATE agents_agent SET reconcile_at = %(now)s
WHERE desired = 'running' AND status IN ('running', 'failed') AND status <> 'deleted' AND reconcile_at IS NULL
    AND CASE status
        WHEN 'running' THEN lost_since IS NOT NULL OR suffix NOT IN (SELECT unnest(string_to_array(%(healthy)s, ',')))
        ELSE suffix IN (SELECT unnest(string_to_array(%(healthy)s || ',' || %(astray)s, ',')))
    END
"""


def mark(healthy: Collection[str], *, now: datetime, astray: Collection[str] = ()) -> int:
    """Make due every settled agent that has lost its healthy pod, or has one again, or failed and has its pod astray.

    Both are suffixes of pods.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MARK, {"healthy": ",".join(healthy), "astray": ",".join(astray), "now": now})
        return int(cursor.rowcount)
