"""G5: `POST /agents` against a plain view with one autocommit INSERT of the same row."""

from __future__ import annotations

import json
import re
import secrets
import statistics
from collections.abc import Callable
from typing import Any

from django.db import connection

from agents import creation
from agents.models import Agent
from benchmarks import customers, load, processes
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import Cost, cost, described, in_turns
from benchmarks.processes import Program
from benchmarks.statements import Statements

CREATES = 300
EACH = 3  # MAX_FREE_AGENTS
WANTED = {"personaId": "exam-coach", "tier": "small"}
_TRANSACTION = re.compile("BEGIN|COMMIT|SAVEPOINT|RELEASE", re.IGNORECASE)


def measure() -> list[Figure]:
    with processes.web() as product, processes.web("benchmarks.baseline.settings") as baseline:
        ours, theirs = in_turns(_creating(product), _inserting(baseline))
        return [_cost(ours, theirs), *_statements(product)]


def _creating(product: Program) -> Callable[[], Cost]:
    body = json.dumps(WANTED).encode()

    def creates() -> Cost:
        buyers = customers.some(CREATES // EACH) * EACH
        return cost(product, [load.post("/agents", body, Authorization=buyer.bearer) for buyer in buyers], status=200)

    return creates


def _inserting(baseline: Program) -> Callable[[], Cost]:
    row = _a_row()

    def inserts() -> Cost:
        rows = [row | {name: secrets.token_hex(12) for name in ("id", "slug", "suffix")} for _ in range(CREATES)]
        return cost(baseline, [load.post("/insert", json.dumps(each).encode()) for each in rows], status=200)

    return inserts


def _a_row() -> dict[str, Any]:
    """All columns of an agent, as the product writes them."""
    wanted = creation.NewAgent(persona_id="exam-coach", tier="small")
    agent, _ = creation.create(customers.one().user, wanted, actor="benchmark")
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_json(a)::text FROM agents_agent a WHERE id = %s", [agent.id])
        row: dict[str, Any] = json.loads(cursor.fetchone()[0])
    json_columns = {f.column for f in Agent._meta.concrete_fields if f.get_internal_type() == "JSONField"}  # noqa: SLF001
    return {name: json.dumps(value) if name in json_columns else value for name, value in row.items()}


def _cost(ours: list[Cost], theirs: list[Cost]) -> Figure:
    value = ratio([each.total for each in ours], [each.total for each in theirs])
    against = f"plain view, one autocommit INSERT of the same row; CPU {described(ours)} against {described(theirs)}"
    return Figure("G5 POST /agents: CPU", value, "x", "<= 12 x", value <= 12, against)


def _statements(product: Program) -> list[Figure]:
    """Statements per create in a warm process, without those that begin and end transactions."""
    asked, commits = [], []
    buyers = customers.some(5)
    for buyer in buyers:
        request = load.post("/agents", json.dumps(WANTED).encode(), Authorization=buyer.bearer)
        load.run(product.port, [request], connections=1).expect(200)  # the use of its key is recorded by now
        with Statements() as seen:
            load.run(product.port, [request], connections=1).expect(200)
        own = [text for text in seen.texts if not _TRANSACTION.match(text) and text not in {"", ";", "SELECT 1"}]
        asked.append(len([text for text in own if "catalog_catalogversion" not in text]))
        commits.append(sum(text.upper().startswith("COMMIT") for text in seen.texts))
    note = "no baseline; the median of 5, without BEGIN, COMMIT and the pool's check of its connection"
    statements, committed = statistics.median(asked), statistics.median(commits)
    return [
        Figure("G5 statements per create", statements, "", "<= 6", statements <= 6, note),
        Figure("G5 commits before the reply", committed, "", "<= 1", committed <= 1, note),
    ]
