"""The figures of the whole platform: right, bounded, and read with few statements."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest

from accounts.models import User
from agents.models import Agent, AgentQuota
from billing import invariants
from config.celery import BEAT
from config.redis import client as redis_client
from status import figures, loops
from status.figures import Figures
from tests.scraping import Scrape
from tests.webhooks.conftest import agent_of
from webhooks import events
from webhooks.event_types import EventType

HOOK = "https://receiver.example.com/hook"


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_user("owner@example.com")


def told() -> Scrape:
    """The figures, read anew."""

    class FiguresNow:
        def collect(self) -> object:
            return figures.read()

    registry = CollectorRegistry()
    registry.register(FiguresNow())  # type: ignore[arg-type]  # has all that is used
    return Scrape(generate_latest(registry).decode())


def test_agents_are_counted_by_state_and_cause(person: User) -> None:
    agent_of(person)
    agent_of(person)
    agent_of(person, status="stopped", desired="stopped", operation="owner")
    agent_of(person, status="failed", cause="OOM")
    agent_of(person, status="deleted", desired="deleted")
    found = told()
    assert found.value("agentpods_agents", status="running", desired="running") == 2
    assert found.value("agentpods_agents", status="stopped") == 1
    assert found.value("agentpods_agents") == 4
    assert found.value("agentpods_agents_failed", cause="OOM") == 1


def test_causes_that_pods_invent_are_one_series(person: User) -> None:
    for number in range(5):
        agent_of(person, status="failed", cause=f"INVENTED_{number}")
    assert told().series("agentpods_agents_failed") == {(("cause", "OTHER"),)}


def test_what_must_be_zero_is_told_when_it_is_not(person: User) -> None:
    assert told().value("agentpods_unpaid_running_agents") == 0
    past = timezone.now() - timedelta(hours=1)
    agent_of(person, entitled_until=past)
    held = agent_of(person, status="stopped", desired="stopped", operation="payment", paid=True)
    Agent.objects.filter(pk=held.pk).update(status_since=past)
    found = told()
    assert found.value("agentpods_unpaid_running_agents") == 1
    assert found.value("agentpods_paid_stopped_agents") == 1


def test_late_work_and_waiting_deliveries_are_told(person: User) -> None:
    past = timezone.now() - timedelta(seconds=90)
    agent_of(person, reconcile_at=past)
    hooked = agent_of(person, url=HOOK)
    events.emit(hooked, EventType.AGENT_RUNNING, {}, now=past)
    found = told()
    assert 90 <= (found.value("agentpods_oldest_due_seconds", work="agents") or 0) < 120
    assert 90 <= (found.value("agentpods_oldest_due_seconds", work="deliveries") or 0) < 120
    assert found.value("agentpods_oldest_due_seconds", work="terms") == 0
    assert found.value("agentpods_deliveries_waiting") == 1


def test_memory_and_disk_are_summed(person: User) -> None:
    for _ in range(2):
        AgentQuota.objects.create(agent=agent_of(person), updated_at=timezone.now(), memory_used_bytes=5)
    found = told()
    assert found.value("agentpods_usage_bytes", kind="memory_used") == 10
    assert found.value("agentpods_usage_bytes", kind="disk_used") == 0


@pytest.mark.django_db
def test_loops_and_queues_are_told() -> None:
    loops.record("webhooks.drain", now=timezone.now() - timedelta(hours=1))
    loops.record("a.loop.of.an.older.release", now=timezone.now())
    redis_client().rpush("billing", "task")
    found = told()
    assert found.value("agentpods_loop_late", loop="webhooks.drain") == 1
    assert len(found.series("agentpods_loop_late")) == len(BEAT)
    assert found.series("agentpods_loop_last_success_timestamp_seconds") == {(("loop", "webhooks.drain"),)}
    assert found.value("agentpods_queue_length", queue="billing") == 1
    assert found.value("agentpods_queue_length", queue="lifecycle") == 0


def test_the_number_of_statements_does_not_depend_on_the_number_of_rows(person: User) -> None:
    with CaptureQueriesContext(connection) as few:
        figures.read()
    for number in range(30):
        agent = agent_of(person, url=HOOK, status="failed" if number % 2 else "running", cause="OOM")
        events.emit(agent, EventType.AGENT_RUNNING, {}, now=timezone.now())
    with CaptureQueriesContext(connection) as many:
        figures.read()
    assert len(many) == len(few)
    assert len(many) < 30


def many(agent: Agent, count: int) -> None:
    """So many more agents like this one."""
    values = {field.attname: getattr(agent, field.attname) for field in Agent._meta.concrete_fields}
    unique = [dict.fromkeys(("id", "slug", "suffix"), f"{agent.pk[:20]}{n}") for n in range(count)]
    Agent.objects.bulk_create((Agent(**{**values, **own}) for own in unique), batch_size=500)


def test_the_figures_of_money_use_indexes(person: User) -> None:
    now = timezone.now()
    many(agent_of(person, entitled_until=now + timedelta(days=1)), 2_000)
    many(agent_of(person, status="stopped", desired="stopped", operation="trial"), 2_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agents_agent")
    assert "agent_end" in invariants.unpaid_but_running(now).explain()
    assert "agent_paid_stopped" in invariants.paid_but_stopped(now).explain()


@pytest.mark.django_db(transaction=True)
def test_a_second_scrape_asks_the_database_nothing() -> None:
    collector = Figures()
    registry = CollectorRegistry()
    registry.register(collector)
    first, began = generate_latest(registry), collector._check._run
    assert generate_latest(registry) == first
    assert collector._check._run is began


@pytest.mark.django_db(transaction=True)
def test_a_database_that_fails_is_told_and_old_figures_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = CollectorRegistry()
    monkeypatch.setattr("django.db.transaction.atomic", _refuse)
    registry.register(Figures())
    found = Scrape(generate_latest(registry).decode())
    assert found.value("agentpods_figures_up") == 0
    assert {one.name for one in found.samples} == {"agentpods_figures_up"}


def _refuse() -> None:
    raise OSError("the database is away")
