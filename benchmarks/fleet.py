"""Many agents at once, copied from one real row by one statement of SQL."""

from __future__ import annotations

from django.db import connection
from django.test import override_settings

from agents import creation
from agents.models import Agent
from benchmarks import customers

# What differs from the first agent: `i` counts. Long texts are cut, so that a million rows fit anywhere.
_OWN = {
    "id": "'agt_' || lpad(to_hex(i), 24, '0')",
    "slug": "'agent-' || i",
    "suffix": "lpad(to_hex(i), 24, '0')",
    "soul": "'soul'",
    "management_token": "''",
    "ticket_key": "''",
    "engine_key": "''",
    "reconcile_at": "NULL",
}


def fill(numbers: range, **columns: str) -> None:
    """Agents with these numbers; `columns` are SQL expressions over `i`."""
    own = {**_OWN, **columns}
    names = [str(field.column) for field in Agent._meta.concrete_fields]  # noqa: SLF001
    chosen = ", ".join(own.get(name, f'a."{name}"') for name in names)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # no look at the owner's row for each
        cursor.execute(
            f"INSERT INTO agents_agent ({', '.join(names)}) "
            f"SELECT {chosen} FROM agents_agent a, generate_series(%s::int, %s::int) i WHERE a.id = %s",
            [numbers.start, numbers.stop - 1, _first().id],
        )
        cursor.execute("RESET session_replication_role")
    analyse()


def analyse() -> None:
    """What autovacuum does in the minutes after: statistics, and pages that are known to be all visible."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")


def _first() -> Agent:
    with override_settings(MAX_FREE_AGENTS=1):
        found = Agent.objects.filter(name="First of the fleet").first()
        if found is not None:
            return found
        wanted = creation.NewAgent(persona_id="exam-coach", tier="small", name="First of the fleet")
        return creation.create(customers.one().user, wanted, actor="benchmark")[0]
