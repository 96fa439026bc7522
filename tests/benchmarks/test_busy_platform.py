"""The busy platform of the benchmark CONSOLE: as many rows as it says, all indexes, and nothing wrong in its books."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from agents.models import Agent
from benchmarks import busy_platform
from billing import invariants
from billing.models import Payment
from webhooks.models import Delivery

AGENTS = 90


def indexes() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'")
        return {row[0] for row in cursor.fetchall()}


@pytest.mark.django_db(transaction=True)
def test_each_agent_has_its_rows_and_the_tables_keep_their_indexes(catalog: None, runtime: object) -> None:
    before = indexes()
    busy_platform.fill(AGENTS)
    assert indexes() == before
    assert Agent.objects.filter(slug__startswith="agent-").count() == AGENTS
    assert Delivery.objects.count() == 10 * AGENTS
    assert Payment.objects.filter(kind__in=("payment", "renewal")).count() == 9 * AGENTS // 3
    assert not invariants.broken(now=timezone.now())
