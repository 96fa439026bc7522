"""Lists of the console over long tables: no page sorts, counts or searches a whole table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.filters import AllValuesFieldListFilter, RelatedFieldListFilter
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from agents.models import Agent
from config import long_lists
from status.models import Incident
from tests.agents.conftest import MakeAgent

pytestmark = [pytest.mark.sampled, pytest.mark.django_db, pytest.mark.unmeasured]

# The tables that have hundreds of thousands of rows on a platform of 100,000 agents.
LONG = {
    *("agents.Agent", "agents.Transition", "agents.Backup", "webhooks.Event", "webhooks.Delivery"),
    *("billing.AgentTerm", "billing.Payment", "billing.Order", "billing.CryptoOrder", "billing.Deposit"),
    *("billing.Invoice", "billing.StripeEvent", "accounts.Letter", "config.AuditEntry"),
}
# Short tables, which may be read as a whole for a date hierarchy.
SHORT = {"status.Incident", "billing.DeferredRevenue"}
SOME_AGENT = "agt_000000000000000000000000"
NOTHING = "SELECT"  # the list asks nothing, because no row of another table fits


@pytest.fixture
def console(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def lists() -> Iterator[tuple[admin.ModelAdmin[Any], str]]:
    for own in admin.site._registry.values():
        if own.opts.label in LONG:
            yield own, reverse(f"admin:{own.opts.app_label}_{own.opts.model_name}_changelist")


def nodes(sql: str) -> Iterator[dict[str, Any]]:
    """The nodes of the plan, if PostgreSQL reads and sorts whole tables only where no index helps."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        found = cursor.fetchone()[0]
        cursor.execute("RESET enable_seqscan")
        cursor.execute("RESET enable_sort")
    waiting = [(found if isinstance(found, list) else json.loads(found))[0]["Plan"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", [])
        yield node


def page_of(console: Client, place: str, table: str) -> str:
    """The statement that reads the rows of the page."""
    with CaptureQueriesContext(connection) as asked:
        assert console.get(place).status_code == 200, place
    read = [one["sql"] for one in asked.captured_queries if f'FROM "{table}"' in one["sql"]]
    return read[-1] if read else NOTHING


def test_no_long_list_is_sorted_as_a_whole(console: Client) -> None:
    for own, place in lists():
        sql = page_of(console, place, own.opts.db_table)
        sorted_whole = [one for one in nodes(sql) if one["Node Type"] == "Sort"]
        # A list of one table may be sorted after a bitmap scan; only a list with a limit goes by the index.
        assert not sorted_whole, (own.opts.label, sql)


def test_an_agents_rows_are_found_by_an_index(console: Client) -> None:
    for own, place in lists():
        sql = page_of(console, f"{place}?q={SOME_AGENT}", own.opts.db_table)
        whole = [
            one for one in nodes(sql) if one["Node Type"] == "Seq Scan" and one["Relation Name"] == own.opts.db_table
        ]
        assert not whole, (own.opts.label, sql)


def test_no_filter_of_a_long_list_reads_its_table(console: Client) -> None:
    for own in admin.site._registry.values():
        assert own.date_hierarchy is None or own.opts.label in SHORT, own
    for own, place in lists():
        specs = console.get(place).context["cl"].filter_specs
        assert not [one for one in specs if isinstance(one, AllValuesFieldListFilter | RelatedFieldListFilter)], own


def test_a_long_list_is_counted_in_part(console: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_lists, "MOST_COUNTED", 2)
    now = timezone.now()
    for number in range(4):
        Incident.objects.create(title=f"incident {number}", started_at=now)
    page = console.get("/admin/status/incident/").content.decode()
    assert "more than 2 incidents" in page
    assert "more than" not in console.get("/admin/status/incident/?q=incident+3").content.decode()


def test_a_column_without_a_link_cannot_be_sorted_by(console: Client) -> None:
    place = reverse("admin:webhooks_delivery_changelist")
    assert console.get(f"{place}?o=7").context["cl"].queryset.query.order_by[:2] == ("-created_at", "-pk")


def test_lists_need_as_many_statements_for_many_rows_as_for_one(console: Client, make_agent: MakeAgent) -> None:
    places = [reverse(f"admin:{one}_changelist") for one in ("agents_agent", "billing_agentterm", "webhooks_event")]
    places += [reverse("admin:agents_transition_changelist"), reverse("admin:webhooks_delivery_changelist")]

    def asked() -> list[int]:
        counts = []
        for place in places:
            with CaptureQueriesContext(connection) as statements:
                assert console.get(place).status_code == 200
            counts.append(len(statements))
        return counts

    make_agent()
    asked()
    one = asked()
    for number in range(3):
        make_agent(User.objects.create_user(f"owner{number}@example.com"))
    assert asked() == one


def test_a_list_reads_no_secrets(console: Client, make_agent: MakeAgent) -> None:
    make_agent()
    for name in ("agents_agent", "agents_transition"):
        sql = page_of(console, reverse(f"admin:{name}_changelist"), name)
        assert '"management_token"' not in sql
        assert '"llm_key"' not in sql


def found(console: Client, text: str) -> set[str]:
    listed = console.get("/admin/agents/agent/", {"q": text}).context["cl"]
    return {agent.name for agent in listed.queryset}


def test_an_agent_is_found_by_the_middle_of_its_name_or_of_its_owners_address(
    console: Client, make_agent: MakeAgent
) -> None:
    agent = make_agent(name="Night Owl")
    make_agent(User.objects.create_user("bob@example.org"), name="Coach")
    mail = agent.user.email
    for text in ("night", "IGHT OW", "owl night", mail, mail.upper(), mail[2:-2], agent.pk, agent.pk[:10], agent.slug):
        assert "Night Owl" in found(console, text), text
    assert found(console, f"owl {mail}") == {"Night Owl"}
    assert found(console, "owl bob@example.org") == set()
    assert found(console, "example.org") == {"Coach"}
    for text in ("%", "_", "\\", "'", "agt_", "x" * 5_000, " ".join("a" * 50)):
        found(console, text)


def test_the_questions_of_operators_are_filters(console: Client, make_agent: MakeAgent) -> None:
    now = timezone.now()
    changes: dict[str, dict[str, Any]] = {
        "fine": {"status": "running", "paid": True},
        "paused": {"status": "stopped", "desired": "stopped", "paid": True},
        "broken": {"status": "failed", "paid": True, "status_since": now},
        "long broken": {"status": "failed", "status_since": now - timedelta(hours=40)},
        "ending": {"status": "running", "entitled_until": now + timedelta(hours=3)},
        "deleted": {"status": "deleted", "desired": "deleted", "paid": True},
    }
    for name, columns in changes.items():
        agent = make_agent(User.objects.create_user(f"{name.replace(' ', '-')}@example.com"), name=name)
        Agent.objects.filter(pk=agent.pk).update(**columns)
    expected = {
        "paid-not-running": {"paused", "broken"},
        "paid-failed": {"broken"},
        "failed-lately": {"broken"},
        "unsettled": set(),
        "trial-ends": {"ending"},
        "paid-ends": set(),
        "nonsense": set(changes),
    }
    for question, names in expected.items():
        listed = console.get("/admin/agents/agent/", {"question": question}).context["cl"]
        assert {agent.name for agent in listed.queryset} == names, question
