"""A platform with 100,000 agents of 25,000 people, 1,000,000 deliveries and 300,000 payments, made by SQL.

The rows keep all constraints, and the checks of billing/invariants.py find nothing wrong. A third of the agents is paid
for, each with nine monthly payments. The others are on trial, stopped or deleted. Operators' lists have rows of every
kind that an installation collects in a year.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.apps import apps
from django.db import connection
from django.db.models import JSONField, Model
from django.db.models.fields import NOT_PROVIDED, Field

from agents.models import Cluster
from agents.runtimes.base import Phase
from benchmarks import busy_people, busy_sales, fleet
from benchmarks.bare_tables import bare
from benchmarks.busy_people import SPREAD

AGENTS = 100_000
CLUSTERS = 20
OTHERS = ("accounts.User", "agents.Agent", "agents.Placement", "agents.Pod")  # filled by their own functions
TODAY = "date_trunc('hour', now())"
# A paid agent is a third one. Its time ends within a month.
PAID = "i %% 3 = 0"
_TRIAL = f"i * {SPREAD} < 1700 AND i %% 3 > 0"  # created within a week
STATUS = (
    f"CASE WHEN {PAID} THEN CASE WHEN i %% 300 = 0 THEN 'failed' WHEN i %% 301 = 0 THEN 'stopped' ELSE 'running' END"
    f" WHEN {_TRIAL} THEN 'running' WHEN i %% 3 = 1 THEN 'stopped' ELSE 'deleted' END"
)
_CAUSE = "(ARRAY['CRASH_LOOP', 'IMAGE', 'CONFIG'])[i / 300 %% 3 + 1]"
_CREATED = f"CASE WHEN {PAID} THEN {TODAY} - interval '280 days' ELSE now() - i * {SPREAD} * interval '350 seconds' END"
_COLUMNS = {
    "name": "(ARRAY['Owl', 'Coach', 'Chef', 'Scout', 'Muse'])[i %% 5 + 1] || ' ' || i",
    "engine": "(ARRAY['pi', 'hermes', 'openclaw', 'opencode'])[i %% 4 + 1]",
    "tier": f"CASE WHEN {PAID} THEN 'small' ELSE 'tiny' END",
    "created_at": _CREATED,
    "status": STATUS,
    "settled_status": STATUS,
    "desired": f"CASE WHEN {STATUS} = 'failed' THEN 'running' ELSE {STATUS} END",
    "operation": f"CASE WHEN {PAID} THEN 'owner' WHEN {_TRIAL} THEN 'create' ELSE 'trial' END",
    "status_since": "now() - (i %% 400) * interval '37 minutes'",
    "cause": f"CASE WHEN {STATUS} = 'failed' THEN {_CAUSE} ELSE '' END",
    "cause_message": f"CASE WHEN {STATUS} = 'failed' THEN 'the program ended with exit code 1' ELSE '' END",
    "paid": PAID,
    "was_paid": PAID,
    "trial_ends_at": f"{_CREATED} + interval '7 days'",
    "entitled_until": f"CASE WHEN {PAID} THEN {TODAY} + (i %% 29 + 1) * interval '1 day'"
    f" ELSE {_CREATED} + interval '7 days' END",
    "term_due_at": "now() + interval '1 day'",
    "backup_due_at": "now() + interval '1 day'",
    "last_backup_at": "now() - (i %% 20) * interval '1 hour'",
    "inbox": "'owner-' || i / 4 || '@example.com'",
}
# What the other tables are made from: the agents by their numbers.
_AGENTS = """
CREATE TEMP TABLE busy AS
SELECT substr(slug, 7)::int i, id agent, user_id owner, paid, status, entitled_until until, created_at created
FROM agents_agent WHERE slug LIKE 'agent-%'
"""


BusyTable = tuple[str, str, Mapping[str, str]]  # a model, what follows FROM, and its columns as SQL expressions


def fill(agents: int = AGENTS, *, columns: Mapping[str, str] | None = None, more: Sequence[BusyTable] = ()) -> None:
    """Fill an empty database. The other rows are as many for each agent, however many agents there are.

    `columns` are further columns of agents, `more` are further tables.
    """
    tables = (*busy_people.TABLES, *busy_sales.TABLES, *more)
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('busy.spread', %s, false)", [str(max(1, AGENTS // agents))])
    with bare({*OTHERS, *(label for label, _, _ in tables)}):
        fleet.copy(range(1, agents + 1), **_COLUMNS, **(columns or {}))
        with connection.cursor() as cursor:
            cursor.execute(_AGENTS)
            cursor.execute("ANALYZE busy")
        _clusters()
        for table in tables:
            insert(*table)
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE busy")
    fleet.analyse()


def _clusters() -> None:
    Cluster.objects.bulk_create(
        Cluster(name=f"cluster-{number:02}", region="eu", capacity=5_000, gateway="gates/main")
        for number in range(CLUSTERS)
    )
    first = Cluster.objects.order_by("pk").values_list("pk", flat=True)[0]
    on = {"agent_id": "agent", "cluster_id": f"{first} + i % {CLUSTERS}"}
    insert("agents.Placement", "busy WHERE status <> 'deleted'", {**on, "created_at": "created"})
    insert(
        "agents.Pod",
        "busy JOIN agents_agent a ON a.id = agent WHERE busy.status = 'running'",
        {**on, "namespace": "'pod-' || a.suffix || '-1'", "phase": f"'{Phase.READY}'", "gateway_alive": "true"},
    )


def insert(label: str, source: str, columns: Mapping[str, str]) -> None:
    """Insert rows of this model. `source` is what follows FROM, `columns` are SQL expressions.

    Other columns get their default.
    """
    model = apps.get_model(label)
    own = {**_defaults(model, without=columns), **columns}
    names, values = ", ".join(f'"{name}"' for name in own), ", ".join(own.values())
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {model._meta.db_table} ({names}) SELECT {values} FROM {source}")  # noqa: SLF001


def _defaults(model: type[Model], *, without: Mapping[str, str]) -> dict[str, str]:
    fields = [field for field in model._meta.local_concrete_fields if str(field.column) not in without]  # noqa: SLF001
    return {
        str(field.column): _default(field)
        for field in fields
        if not field.null and field.db_default is NOT_PROVIDED and not field.get_internal_type().endswith("AutoField")
    }


def _default(field: Field[object, object]) -> str:
    kind = field.get_internal_type()
    if isinstance(field, JSONField):
        return "'[]'" if field.default is list else "'{}'"
    match kind:
        case "ArrayField":
            return "'{}'"
        case "BooleanField":
            return "true" if field.default is True else "false"
        case "DateTimeField":
            return "now()"
        case "DurationField":
            return "interval '0'"
        case "CharField" | "TextField" | "URLField":
            return f"'{field.default}'" if isinstance(field.default, str) else "''"
        case _:
            return str(field.default) if isinstance(field.default, int) else "0"
