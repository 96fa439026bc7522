"""The service levels: measured for each day, kept as daily facts, shown to operators and told to Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest

from accounts.models import User
from agents.models import Agent, Transition
from status import figures
from status.models import DailyFact, HealthSample
from status.overview import facts
from status.service_levels import levels
from status.service_levels.levels import LevelResult
from tests.scraping import Scrape
from tests.webhooks.conftest import agent_of
from webhooks import events
from webhooks.event_types import EventType
from webhooks.models import Delivery, Hook

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture
def person() -> User:
    return User.objects.create_user("owner@example.com")


def kept(name: str) -> LevelResult:
    facts.measure(now=timezone.now())
    return stored(name)


def stored(name: str) -> LevelResult:
    """Of the facts that are there."""
    return next(one for one in levels.kept(now=timezone.now()) if one.level.name == name)


def counted(name: str) -> tuple[int, int]:
    found = kept(name)
    return found.good, found.bad


def sample(minutes_ago: float, *down: str, requests: int = 0, failed: int = 0) -> None:
    at = NOON - timedelta(minutes=minutes_ago)
    HealthSample.objects.create(at=at, down=list(down), requests=requests, failed=failed)


def test_the_api_is_measured_in_half_minutes_and_one_that_nobody_saw_is_bad() -> None:
    sample(5)  # the first of all: nothing is said about the time before it
    sample(4.5, "mail", "queue")
    sample(4, requests=1_000, failed=10)
    sample(3.5, requests=1_000, failed=11)
    sample(3, "database")
    # Nobody took the samples of 2.5, 2 and 1.5 minutes ago.
    sample(1)
    assert counted("api") == (4, 5)
    assert kept("api").budget_says == "missed"


def test_a_start_is_good_if_the_agent_runs_within_two_minutes(person: User, clock: time_machine.Traveller) -> None:
    clock.move_to(NOON - timedelta(hours=1))

    def started(*then: tuple[str, int], was: str = "stopped") -> Agent:
        agent = agent_of(person)
        for to, seconds in [("provisioning", 0), *then]:
            at = timezone.now() + timedelta(seconds=seconds)
            given = {"from_status": was, "to_status": to, "reason": "create" if was == to else "owner"}
            Transition.objects.create(agent=agent, **given, actor="owner", at=at)
            was = to
        return agent

    started(("running", 120))
    started(("running", 30), ("stopped", 40), was="provisioning")  # as it was created
    started(("running", 121))
    gone = started(("failed", 20), ("running", 60))
    started()
    started(("stopped", 10))  # its owner did not wait
    clock.move_to(NOON - timedelta(seconds=119))
    started()  # not decided yet
    clock.move_to(NOON)
    assert counted("running") == (2, 3)
    gone.delete()
    assert counted("running") == (2, 3)  # a counter never falls


def test_an_event_is_good_if_its_first_attempt_begins_within_30_seconds(person: User) -> None:
    def ended(seconds: float, *, slow: bool = False, **columns: object) -> None:
        agent = agent_of(person, url="https://receiver.example.com/hook")
        event = events.emit(agent, EventType.AGENT_RUNNING, {}, now=NOON)
        given = {"state": "delivered", "attempts": 1, "duration_ms": 9_000, **columns}
        Delivery.objects.filter(event=event).update(finished_at=NOON + timedelta(seconds=seconds), **given)
        Hook.objects.filter(agent=agent).update(slow=slow)

    ended(39)
    ended(40)
    ended(400, slow=True)
    ended(400, attempts=2)
    ended(400, state="failed", attempts=1)
    ended(400, resent_by="operator")
    ended(400, is_test=True)
    assert counted("deliveries") == (1, 1)


def test_30_days_and_the_budget_are_shown_and_told(client: Client) -> None:
    for days, good, bad in ((31, 0, 500), (29, 1_000, 1), (1, 998, 0)):
        for key, value in (("good", good), ("bad", bad)):
            day = (NOON - timedelta(days=days)).date()
            DailyFact.objects.create(day=day, name="slo_api", key=key, value=value, measured_at=NOON)
    assert stored("api").budget_left == pytest.approx(0.5, abs=0.01)
    client.force_login(User.objects.create_superuser("operator@example.com"))
    page = client.get("/admin/").content.decode()
    assert "The API answers" in page
    assert "99.95% of 1,999" in page
    assert "50%" in page
    registry = CollectorRegistry()

    class LevelsNow:
        def collect(self) -> object:
            return figures.read()

    registry.register(LevelsNow())  # type: ignore[arg-type]  # has all that is used
    told = Scrape(generate_latest(registry).decode())
    assert told.value("agentpods_slo_events_total", slo="api") == 0  # today's
    assert told.value("agentpods_slo_target_ratio", slo="api") == 0.999
    assert told.value("agentpods_slo_budget_left_ratio", slo="api") == pytest.approx(0.5, abs=0.01)
