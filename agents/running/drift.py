"""Find agents whose pod does not match their row, with one SQL statement for the whole fleet."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from config import sql

# `IN (SELECT …)` uses a hash table. For `= ANY(…)` and for a join there are plans that compare each agent with each
# pod. The status is named twice so that the partial index `agent_live` fits. Splitting a text is faster than reading an
# array.
_MARK = """
UPDATE agents_agent SET reconcile_at = %(now)s
WHERE desired = 'running' AND status IN ('running', 'failed') AND status <> 'deleted' AND reconcile_at IS NULL
    AND CASE status
        WHEN 'running' THEN lost_since IS NOT NULL OR suffix NOT IN (SELECT unnest(string_to_array(%(healthy)s, ',')))
        ELSE suffix IN (SELECT unnest(string_to_array(%(healthy)s || ',' || %(astray)s, ',')))
    END
"""


def mark(healthy: Collection[str], *, now: datetime, astray: Collection[str] = ()) -> int:
    """Make settled agents due: those that lost their healthy pod, those that have one again, and failed ones whose
    pod's objects differ from what we want.

    `healthy` and `astray` are the suffixes of such pods. Returns how many agents were made due.
    """
    return sql.execute(_MARK, {"healthy": ",".join(healthy), "astray": ",".join(astray), "now": now})
