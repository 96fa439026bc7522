"""The overview shows what is there, and each number leads to the rows that were counted."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis.exceptions import RedisError

from accounts.models import User
from agents.models import Agent, Repository, Status
from status import loops
from status.models import DailyFact, Incident
from status.overview import facts
from tests import operating
from tests.agents.conftest import MakeAgent
from tests.at_length import some
from tests.billing.conftest import Clock, Pay

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(clock: Clock, client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def cards(answer: Any) -> dict[str, Any]:
    """The cards of the page by their facts."""
    return {shown.card.fact: shown for group in answer.context["groups"].values() for shown in group}


def parts(shown: Any) -> dict[str, str]:
    return {key: number for key, number, _ in shown.parts}


def measured(console: Client, clock: Clock) -> dict[str, Any]:
    facts.measure(now=clock.now)
    return cards(console.get("/admin/"))


def test_agents_are_counted_by_status_engine_and_tier(console: Client, clock: Clock, make_agent: MakeAgent) -> None:
    for tier in ("tiny", "small"):
        make_agent(tier=tier)
    gone = make_agent()
    Agent.objects.filter(pk=gone.pk).update(status=Status.DELETED, desired="deleted")
    found = measured(console, clock)
    assert parts(found["agents_by_tier"]) == {"tiny": "1", "small": "1"}
    assert parts(found["agents_by_status"]) == {"provisioning": "2"}
    assert found["new_agents"].number == "3"


def test_failed_agents_are_counted_by_cause_and_the_number_leads_to_them(
    console: Client, clock: Clock, make_agent: MakeAgent
) -> None:
    failed, _ = make_agent(), make_agent()
    Agent.objects.filter(pk=failed.pk).update(status=Status.FAILED, cause="CONFIG")
    ((cause, number, link),) = measured(console, clock)["failures_by_cause"].parts
    assert (cause, number) == ("CONFIG", "1")
    listed = console.get(link).context["cl"].queryset
    assert [agent.pk for agent in listed] == [failed.pk]


def test_every_link_leads_to_a_list(console: Client, clock: Clock, running: Agent, pay: Pay) -> None:
    pay(running)
    links = set()
    for shown in measured(console, clock).values():
        links |= {shown.link, *(link for _, _, link in shown.parts)}
    assert len(links) > 15
    for link in some(sorted(links)):
        answer = console.get(link)
        assert (link, answer.status_code) == (link, 200)


def test_the_number_of_overdue_backups_leads_to_those_agents(
    console: Client, clock: Clock, make_agent: MakeAgent
) -> None:
    overdue, fresh = make_agent(), make_agent()
    running = {"status": Status.RUNNING, "status_since": clock.now - timedelta(days=9)}
    Agent.objects.filter(pk=overdue.pk).update(last_backup_at=clock.now - timedelta(hours=37), **running)
    Agent.objects.filter(pk=fresh.pk).update(last_backup_at=clock.now - timedelta(hours=35), **running)
    links = {key: (number, link) for key, number, link in measured(console, clock)["backups"].parts}
    number, link = links["older than 36 hours"]
    assert number == "1"
    assert [agent.pk for agent in console.get(link).context["cl"].queryset] == [overdue.pk]


def test_the_number_of_failed_backups_leads_to_their_repositories(
    console: Client, clock: Clock, make_agent: MakeAgent
) -> None:
    failing, well = make_agent(), make_agent()
    for agent, failures in ((failing, 2), (well, 0)):
        Repository.objects.create(agent=agent, failures=failures, drilled_at=clock.now, drill_failure="x" * failures)
    links = {key: link for key, _, link in measured(console, clock)["backups"].parts}
    for key in ("last one failed", "last drill failed"):
        assert [row.pk for row in console.get(links[key]).context["cl"].queryset] == [failing.pk], key


def test_money_of_today_and_of_this_month_by_provider(console: Client, clock: Clock, running: Agent, pay: Pay) -> None:
    pay(running)  # 5 USD
    assert measured(console, clock)["received_usd"].number == "5.00"
    clock.go(timedelta(days=1))
    found = measured(console, clock)["received_usd"]
    assert (found.number, found.month) == ("0.00", "5.00")


def test_money_of_each_month_by_provider_leads_to_its_payments_and_reports(
    console: Client, clock: Clock, running: Agent, pay: Pay
) -> None:
    pay(running)  # 5 USD, in November
    facts.measure(now=clock.now)
    clock.go(timedelta(days=20))
    console.force_login(User.objects.get(email="operator@example.com"))  # the session is over by now
    for name, key, value in (
        ("received_usd", "stripe", 30),
        ("returned_usd", "stripe", 4),
        ("received_usd", "usdc", 7),
    ):
        DailyFact.objects.create(day=clock.now.date(), name=name, key=key, value=value, measured_at=clock.now)
    december, november = console.get("/admin/").context["months"]
    assert (december.name, december.received, december.returned) == ("2026-12", 37, 4)
    assert {key: (one.received, one.returned) for key, one in december.providers.items()} == {
        "stripe": (30, 4),
        "usdc": (7, 0),
    }
    assert (november.name, november.received) == ("2026-11", 5)
    ((_, sums),) = november.providers.items()
    assert console.get(sums.link).context["cl"].result_count == 1
    assert console.get(december.providers["stripe"].link).context["cl"].result_count == 0
    assert console.get(november.link).status_code == 200
    assert "2026-11" in console.get(november.link).content.decode()


def test_who_may_not_see_reports_sees_no_months(clock: Clock, running: Agent, pay: Pay) -> None:
    pay(running)
    facts.measure(now=clock.now)
    assert operating.staff("view_agent").get("/admin/").context["months"] == []


def test_the_oldest_due_work_of_each_kind_is_told_and_the_largest_is_the_number(
    console: Client, clock: Clock, make_agent: MakeAgent
) -> None:
    agent = make_agent()
    Agent.objects.update(reconcile_at=None, term_due_at=None, backup_due_at=None)
    Agent.objects.filter(pk=agent.pk).update(
        reconcile_at=clock.now - timedelta(seconds=90), backup_due_at=clock.now - timedelta(seconds=600)
    )
    shown = measured(console, clock)["overdue_seconds"]
    assert (shown.number, parts(shown)) == ("600", {"backups": "600", "agents": "90"})


def test_the_hours_since_the_last_drill_are_told(console: Client, clock: Clock, make_agent: MakeAgent) -> None:
    assert measured(console, clock)["drill_hours"].number == "none"
    for ago in (timedelta(hours=50), timedelta(hours=7, minutes=20)):
        Repository.objects.create(agent=make_agent(), drilled_at=clock.now - ago)
    assert measured(console, clock)["drill_hours"].number == "7"


def test_what_was_paid_after_the_last_measurement_of_a_day_is_in_that_days_sum(
    console: Client, clock: Clock, running: Agent, pay: Pay
) -> None:
    facts.measure(now=clock.now)
    clock.go(timedelta(hours=11, minutes=59, seconds=30))
    pay(running)
    clock.go(timedelta(minutes=1))
    facts.measure(now=clock.now)
    of_days = DailyFact.objects.filter(name="received_usd").order_by("day").values_list("day__day", "value")
    assert dict(of_days)[21] == 5


def test_a_trial_that_ends_within_three_days_is_counted(console: Client, clock: Clock, running: Agent) -> None:
    assert measured(console, clock)["trials_ending"].number == "0"  # seven days are left
    clock.go(timedelta(days=5))
    shown = measured(console, clock)["trials_ending"]
    assert shown.number == "1"
    assert [row.pk for row in console.get(shown.link).context["cl"].queryset] == [running.pk]


def test_an_agent_that_runs_unpaid_is_marked_as_wrong(console: Client, clock: Clock, running: Agent) -> None:
    assert not measured(console, clock)["unpaid_but_running"].is_wrong
    clock.go(timedelta(days=8))
    shown = measured(console, clock)["unpaid_but_running"]
    assert (shown.number, shown.is_wrong) == ("1", True)
    assert b'class="card wrong"' in console.get("/admin/").content


def test_a_key_that_is_gone_is_no_longer_shown(console: Client, clock: Clock, running: Agent) -> None:
    assert parts(measured(console, clock)["agents_by_tier"]) == {"tiny": "1"}
    Agent.objects.update(tier="small")
    assert parts(measured(console, clock)["agents_by_tier"]) == {"small": "1"}


def test_a_measure_that_fails_leaves_the_others_alone(
    console: Client, clock: Clock, running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_redis() -> dict[str, int]:
        raise RedisError("Redis is away")

    monkeypatch.setattr("status.overview.measures.queue_lengths", without_redis)
    found = measured(console, clock)
    assert found["agents_by_status"].number == "1"
    assert "queues" not in {fact.name for fact in DailyFact.objects.all()}


def test_figures_that_are_old_or_missing_are_said_to_be(console: Client, clock: Clock) -> None:
    assert b"No figures of today yet" in console.get("/admin/").content
    facts.measure(now=clock.now)
    assert b"Measured" in console.get("/admin/").content
    clock.go(timedelta(minutes=6))
    assert b"the loop status.measure does not run" in console.get("/admin/").content


def test_open_incidents_and_late_loops_are_at_the_top(console: Client, clock: Clock) -> None:
    Incident.objects.create(title="Slow boots", started_at=clock.now)
    loops.record("agents.sweep", now=clock.now - timedelta(minutes=10))
    loops.record("webhooks.drain", now=clock.now)
    page = console.get("/admin/").content.decode()
    assert "Slow boots" in page
    assert re.findall(r"Late loop: <a [^>]*>([^<]+)", page) == ["agents.sweep"]


def test_facts_older_than_the_plots_and_the_years_end_are_forgotten(console: Client, clock: Clock) -> None:
    facts.measure(now=clock.now)
    clock.go(facts.KEPT + timedelta(days=2))
    facts.measure(now=clock.now)
    assert {fact.day for fact in DailyFact.objects.all()} == {clock.now.date()}


def test_a_plot_begins_with_the_second_day(console: Client, clock: Clock, running: Agent) -> None:
    assert not measured(console, clock)["agents_by_status"].points
    assert b"<polyline" not in console.get("/admin/").content
    clock.go(timedelta(days=1))
    assert len(measured(console, clock)["agents_by_status"].points.split()) == 2
    assert b'aria-label="By status: 2 days, lowest 1, highest 1"' in console.get("/admin/").content


def test_a_person_sees_only_the_cards_of_lists_that_they_may_see(clock: Clock) -> None:
    facts.measure(now=clock.now)
    found = cards(operating.staff("view_delivery").get("/admin/"))
    assert set(found) == {"deliveries_waiting", "deliveries_ended"}


def test_the_page_reads_a_constant_number_of_statements(console: Client, clock: Clock, make_agent: MakeAgent) -> None:
    def statements() -> int:
        console.get("/admin/")  # the session's last use is stored once a minute
        with CaptureQueriesContext(
            connection,
        ) as seen:
            console.get("/admin/")
        return len(seen)

    facts.measure(now=clock.now)
    before = statements()
    for engine in range(3):
        Agent.objects.filter(pk=make_agent().pk).update(engine=f"engine-{engine}", tier=f"tier-{engine}")
        clock.go(timedelta(days=1))
        facts.measure(now=clock.now)
    assert statements() == before <= 12


def test_every_list_is_under_one_heading_of_the_menu(console: Client) -> None:
    menu = console.get("/admin/").context["available_apps"]
    names = [f"{one['model']._meta.label}" for heading in menu for one in heading["models"]]
    assert sorted(names) == sorted(model._meta.label for model in admin.site._registry)
    assert [heading["name"] for heading in menu] == [
        *("Agents", "People", "Money", "Catalog", "Webhooks", "Platform", "Settings", "Internals")
    ]
    internal = {one["model"]._meta.label for one in menu[-1]["models"]}
    assert internal.isdisjoint({"agents.Agent", "billing.Payment", "accounts.User", "webhooks.Delivery"})
    assert {"agents.Pod", "accounts.IdempotentReply", "billing.StripeEvent"} <= internal
