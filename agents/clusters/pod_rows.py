"""The observer's SQL statements: its lease on clusters, the rows of pods, and the reconciler's due times.

One statement writes all changes. A statement that writes a pod's row only works while the lease is held, so an observer
that was thought dead and comes back changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from agents.clusters.models import Pod
from agents.clusters.reading import PodRow
from agents.runtimes.base import Phase
from config import background, sql

LEASE_SECONDS = 15.0

# The lease uses the database's clock, because observers may run on several machines.
_HOLD = """
UPDATE agents_cluster SET observer = %(me)s, observer_until = clock_timestamp() + make_interval(secs => %(seconds)s),
    observed_at = CASE WHEN observer = %(me)s AND id = ANY(%(alive)s::bigint[]) THEN %(now)s ELSE observed_at END
WHERE observer = %(me)s OR observer_until IS NULL OR observer_until < clock_timestamp()
RETURNING id
"""
_GIVE_BACK = "UPDATE agents_cluster SET observer = '', observer_until = NULL WHERE observer = %s"

_HELD = """EXISTS (
    SELECT FROM agents_cluster WHERE id = %(cluster)s AND observer = %(me)s AND observer_until > clock_timestamp()
)"""
_COLUMNS = {
    "phase": "text",
    "gateway_alive": "bool",
    "revision": "int",
    "restarts": "int",
    "cause": "text",
    "message": "text",
    "evidence": "jsonb",
    "since": "timestamptz",
    "pod_ip": "inet",
    "seen": "jsonb",
    "secrets_seen": "jsonb",
    "bridge_bytes": "bigint",
}
_MATTERS = ("phase", "gateway_alive", "revision")


# An object matched its note before, and does not any more. Objects that do not exist yet while a pod is being made do
# not count.
_STRAYS = """(p.seen @> p.kept AND NOT s.seen @> p.kept)
        OR (p.secrets_seen @> p.secrets AND NOT s.secrets_seen @> p.secrets)"""


def _row(prefix: str, columns: Collection[str]) -> str:
    return "(" + ", ".join(f"{prefix}.{column}" for column in columns) + ")"


_WRITE = f"""
WITH seen AS (
    SELECT * FROM unnest(%(namespace)s::text[], %(agent_id)s::text[], %(going)s::bool[],
        {", ".join(f"%({column})s::{kind}[]" for column, kind in _COLUMNS.items())})
        AS s(namespace, agent_id, going, {", ".join(_COLUMNS)})
), changed AS (
    SELECT s.*, p.namespace IS NULL OR {_row("p", _MATTERS)} IS DISTINCT FROM {_row("s", _MATTERS)}
        OR coalesce({_STRAYS}, false) AS matters
    FROM seen s LEFT JOIN agents_pod p ON p.namespace = s.namespace
    WHERE CASE WHEN p.namespace IS NULL THEN NOT s.going
        ELSE p.cluster_id = %(cluster)s AND {_row("p", _COLUMNS)} IS DISTINCT FROM {_row("s", _COLUMNS)} END
), written AS (
    INSERT INTO agents_pod (namespace, agent_id, cluster_id, made_at, {", ".join(_COLUMNS)})
    SELECT namespace, agent_id, %(cluster)s, %(now)s, {", ".join(_COLUMNS)} FROM changed
    WHERE {_HELD} ORDER BY namespace
    ON CONFLICT (namespace) DO UPDATE
    SET {_row("", _COLUMNS).replace(".", "")} = {_row("excluded", _COLUMNS)}
    WHERE agents_pod.cluster_id = excluded.cluster_id
    RETURNING namespace, agent_id
)
SELECT w.agent_id FROM written w JOIN changed c ON c.namespace = w.namespace WHERE c.matters
UNION ALL SELECT NULL WHERE NOT {_HELD}
"""  # noqa: S608 # our own column names

_FORGET = f"""
DELETE FROM agents_pod
WHERE cluster_id = %(cluster)s AND namespace = ANY(%(namespaces)s::text[]) AND made_at <= %(made_before)s AND {_HELD}
RETURNING agent_id
"""  # noqa: S608

# Rows are locked in one order, as everywhere that several agents are locked.
_DUE = """
UPDATE agents_agent SET reconcile_at = %(now)s
WHERE id IN (
    SELECT id FROM agents_agent
    WHERE id = ANY(%(agents)s::text[]) AND (reconcile_at IS NULL OR reconcile_at > %(now)s)
    ORDER BY id FOR NO KEY UPDATE
)
"""


class LeaseLost(Exception):
    """Nothing was written, because the observer does not hold the lease on this cluster any more."""


def hold(me: str, *, alive: Collection[int], now: datetime) -> set[int]:
    """Take or renew the lease on every cluster that no other observer holds. `alive` are the clusters whose watches
    work."""
    values = {"me": me, "seconds": LEASE_SECONDS, "alive": list(alive), "now": now}
    return {cluster_id for (cluster_id,) in sql.rows(_HOLD, values)}


def give_back(me: str) -> None:
    """Give the lease back, so that another observer need not wait."""
    sql.execute(_GIVE_BACK, [me])


def known(cluster_id: int) -> dict[str, PodRow]:
    """The rows of all pods of the cluster, whichever observer wrote them."""
    rows = _pods(cluster_id).values("namespace", "agent_id", *_COLUMNS)
    read = (PodRow(**{**row, "phase": Phase(row["phase"]), "evidence": tuple(row["evidence"])}) for row in rows)
    return {row.namespace: row for row in read}


def made_before(cluster_id: int, when: datetime) -> set[str]:
    """The namespaces of pods that were made before `when`. The cluster should show them by now."""
    return set(_pods(cluster_id).filter(made_at__lte=when).values_list("namespace", flat=True))


def write(cluster_id: int, found: Collection[PodRow], *, me: str, now: datetime) -> set[str]:
    """Write the sightings that differ from their rows. Returns the agents to which the change may matter.

    Raises LeaseLost.
    """
    ordered = list(found)
    arrays: dict[str, Any] = {
        column: [getattr(one, column) for one in ordered] for column in ("namespace", "agent_id", "going", *_COLUMNS)
    }
    arrays["evidence"] = [json.dumps(one.evidence) for one in ordered]
    for column in ("seen", "secrets_seen"):
        arrays[column] = [None if told is None else json.dumps(told) for told in arrays[column]]
    agents = {agent_id for (agent_id,) in sql.rows(_WRITE, {**arrays, "cluster": cluster_id, "me": me, "now": now})}
    if None in agents:
        raise LeaseLost
    return agents


def forget(cluster_id: int, namespaces: Collection[str], *, me: str, made_before: datetime) -> set[str]:
    """Delete the rows of these namespaces, which are gone. Returns their agents."""
    values = {"cluster": cluster_id, "namespaces": list(namespaces), "me": me, "made_before": made_before}
    return {agent_id for (agent_id,) in sql.rows(_FORGET, values)}


def make_due(agents: Collection[str], *, now: datetime) -> None:
    """Make the reconciler look at these agents now."""
    if agents and sql.execute(_DUE, {"agents": sorted(agents), "now": now}):
        background.on_commit("agents.reconcile_due")


def _pods(cluster_id: int) -> Any:
    return Pod.objects.filter(cluster=cluster_id)
