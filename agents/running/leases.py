"""The reconciler's claim on an agent: a lease in its row. One fixed statement takes it, another one gives it back.

This is the hottest path of the control plane: each step of each agent uses it.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from agents.models import Agent
from config import sql

LEASE = timedelta(seconds=60)  # longer than any step; the slowest step removes several pods

# This runs each second and nearly always finds nothing. Without parameters it is planned once, and planning costs more
# than reading the end of the partial index `agent_due`. The limit of `_DUE` makes PostgreSQL plan that statement each
# time.
# The result is in seconds, because Django needs as long to read a time with its zone as for all the rest. It is exact
# to the microsecond.
_SOONEST = "SELECT extract(epoch FROM min(reconcile_at))::float8 FROM agents_agent"
_DUE = "SELECT id FROM agents_agent WHERE reconcile_at <= %s ORDER BY reconcile_at LIMIT %s"

# The columns are named: a prepared `*` would fail after a migration that adds a column.
_COLUMNS = ", ".join(f'"{field.column}"' for field in Agent._meta.concrete_fields)  # noqa: SLF001 # public by its documentation

_TAKE = f"""
UPDATE agents_agent SET lease_until = %(until)s, lease_token = %(token)s, reconcile_at = %(until)s
WHERE id = %(id)s AND (lease_until IS NULL OR lease_until < %(now)s)
    AND (%(due)s::timestamptz IS NULL OR reconcile_at <= %(due)s)
RETURNING {_COLUMNS}
"""  # noqa: S608 # our own column names

_GIVE_BACK = """
UPDATE agents_agent SET lease_until = NULL, lease_token = '',
    reconcile_at = CASE WHEN reconcile_at = %(taken)s THEN %(next)s::timestamptz ELSE reconcile_at END,
    attempts = CASE WHEN %(failed)s THEN attempts + 1 ELSE 0 END
WHERE id = %(id)s AND lease_token = %(token)s
"""


def due(now: datetime, *, limit: int) -> list[str]:
    """The ids of agents whose next step is due, the longest overdue first."""
    with connection.cursor() as cursor:
        cursor.execute(_SOONEST)
        soonest = cursor.fetchone()[0]
        if soonest is None or soonest > now.timestamp():
            return []
        cursor.execute(_DUE, [now, limit])
        return [agent_id for (agent_id,) in cursor.fetchall()]


def take(agent_id: str, *, now: datetime, due: datetime | None = None) -> Agent | None:
    """Return the agent, leased to the caller. None while another worker holds it or, with `due`, when it was not due by
    then.

    The due time moves to the lease's end, so the scan finds the agent again after a crash.
    """
    token, until = secrets.token_hex(8), now + LEASE
    values = {"id": agent_id, "token": token, "until": until, "now": now, "due": due}
    return next(iter(Agent.objects.raw(_TAKE, values)), None)


def give_back(agent: Agent, *, wait: timedelta | None, failed: bool) -> None:
    """End the lease; the next step is due after `wait`, or never (None). An earlier due time that was set in the
    meantime stays. A lost lease changes nothing."""
    upcoming = timezone.now() + wait if wait is not None else None
    values = {"id": agent.pk, "token": agent.lease_token, "taken": agent.reconcile_at, "next": upcoming}
    sql.execute(_GIVE_BACK, {**values, "failed": failed})
