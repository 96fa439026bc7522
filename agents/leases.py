"""The reconciler's claim on an agent: a lease in its row, taken and given back in one constant statement each.

It is the hottest path of the control plane: each step of each agent goes through it.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from agents.models import Agent

LEASE = timedelta(seconds=60)  # longer than any step: the slowest removes several pods

# Asked each second, nearly always in vain. Without parameters it is planned once, and planning costs more than reading
# the end of the partial index `agent_due`; the limit of `_DUE` makes PostgreSQL plan that one anew each time.
# Seconds, since Django takes as long to read a moment with its zone as all the rest takes; to the microsecond exact.
_SOONEST = "SELECT extract(epoch FROM min(reconcile_at))::float8 FROM agents_agent"
_DUE = "SELECT id FROM agents_agent WHERE reconcile_at <= %s ORDER BY reconcile_at LIMIT %s"

# Named one by one: a prepared `*` would fail once a migration has added a column.
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
    """The agents whose next step is due, the longest overdue first."""
    with connection.cursor() as cursor:
        cursor.execute(_SOONEST)
        soonest = cursor.fetchone()[0]
        if soonest is None or soonest > now.timestamp():
            return []
        cursor.execute(_DUE, [now, limit])
        return [agent_id for (agent_id,) in cursor.fetchall()]


def take(agent_id: str, *, now: datetime, due: datetime | None = None) -> Agent | None:
    """The agent, leased; None while another holds it or, given `due`, when it was not due by then.

    The due time moves behind the lease, so that a crash in between is found by the scan.
    """
    token, until = secrets.token_hex(8), now + LEASE
    values = {"id": agent_id, "token": token, "until": until, "now": now, "due": due}
    return next(iter(Agent.objects.raw(_TAKE, values)), None)


def give_back(agent: Agent, *, wait: timedelta | None, failed: bool) -> None:
    """What was asked for meanwhile has set an earlier due time, which stays. A lost lease changes nothing."""
    upcoming = timezone.now() + wait if wait is not None else None
    values = {
        "id": agent.pk,
        "token": agent.lease_token,
        "taken": agent.reconcile_at,
        "next": upcoming,
        "failed": failed,
    }
    with connection.cursor() as cursor:
        cursor.execute(_GIVE_BACK, values)
