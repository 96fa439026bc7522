"""Many agents at once, copied from one real row by one SQL statement."""

from __future__ import annotations

from django.db import connection
from django.db.models import Model
from django.test import override_settings

from agents import creation
from agents.models import Agent
from benchmarks import customers

AGENTS_EACH = 4
_OWNER = "'usr_' || lpad(to_hex({}), 24, '0')"

# The columns in which a copy differs from the first agent; `i` is its number. Long texts are cut, so that a million
# rows fit on any disk.
_OWN = {
    "id": "'agt_' || lpad(to_hex(i), 24, '0')",
    "user_id": _OWNER.format(f"i / {AGENTS_EACH}"),
    "slug": "'agent-' || i",
    "suffix": "lpad(to_hex(i), 24, '0')",
    "soul": "'soul'",
    "management_token": "''",
    "ticket_key": "''",
    "engine_key": "''",
    "reconcile_at": "NULL",
}


def fill(numbers: range, **columns: str) -> None:
    """Create agents with these numbers; `columns` are SQL expressions with `i`.

    Four agents each have the same owner.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # no check of the owner's row for each agent
    copy(numbers, **columns)
    with connection.cursor() as cursor:
        cursor.execute("RESET session_replication_role")
    analyse()


def copy(numbers: range, **columns: str) -> None:
    """The same, without what PostgreSQL does around it."""
    first = _first()
    owners = range(numbers.start // AGENTS_EACH, (numbers.stop - 1) // AGENTS_EACH + 1)
    _copy(first.user, owners, {"id": _OWNER.format("i"), "email": "'owner-' || i || '@example.com'"})
    _copy(first, numbers, {**_OWN, **columns})


def _copy(row: Model, numbers: range, own: dict[str, str]) -> None:
    table, names = row._meta.db_table, [str(field.column) for field in row._meta.concrete_fields]  # noqa: SLF001
    chosen = ", ".join(own.get(name, f'r."{name}"') for name in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(names)}) "
            f"SELECT {chosen} FROM {table} r, generate_series(%s::int, %s::int) i WHERE r.id = %s "
            "ON CONFLICT DO NOTHING",
            [numbers.start, numbers.stop - 1, row.pk],
        )


def analyse() -> None:
    """Do what autovacuum would do within minutes: update statistics and mark pages as all-visible."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")


def _first() -> Agent:
    with override_settings(MAX_FREE_AGENTS=1):
        found = Agent.objects.filter(name="First of the fleet").first()
        if found is not None:
            return found
        wanted = creation.NewAgent(persona_id="exam-coach", tier="small", name="First of the fleet")
        return creation.create(customers.one().user, wanted, actor="benchmark")[0]
