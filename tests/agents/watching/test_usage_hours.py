"""The history of an agent's memory and disk: the highest value of each hour, for thirty days."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from agents import personal, tasks
from agents.models import Agent, AgentQuota, UsageHour
from agents.runtimes.base import Usage
from agents.watching import sampling, usage_hours
from tests.agents.conftest import MakeAgent, settle

MIB, HOUR, DAY = 1 << 20, timedelta(hours=1), timedelta(days=1)
START = datetime(2026, 11, 21, 12, tzinfo=UTC)

Measure = Callable[..., None]


@pytest.fixture
def measure() -> Measure:
    """`measure(agent, at, memory=3, disk=None)`: record a measurement, in MiB."""

    def measured(agent: Agent, at: datetime, *, memory: int | None = 1, disk: int | None = 1) -> None:
        taken = Usage(memory_bytes=_bytes(memory), disk_bytes=_bytes(disk))
        sampling.record({agent.namespace: taken}, now=at)

    return measured


def _bytes(mib: int | None) -> int | None:
    return None if mib is None else mib * MIB


def history(agent: Agent, now: datetime) -> dict[datetime, tuple[int | None, int | None]]:
    """Memory and disk for each hour, in MiB."""
    agent = Agent.objects.select_related("quota_snapshot").get(pk=agent.pk)
    return {
        one.at: tuple(None if used is None else used // MIB for used in (one.memory_used_bytes, one.disk_used_bytes))  # type: ignore[misc]
        for one in usage_hours.of(agent, now=now)
    }


def test_each_hour_has_the_highest_of_its_minutes(running: Agent, measure: Measure) -> None:
    for minute, (memory, disk) in {0: (5, 9), 20: (80, 7), 59: (6, 8), 60: (3, 2), 61: (2, 4)}.items():
        measure(running, START + timedelta(minutes=minute), memory=memory, disk=disk)
    assert history(running, START + HOUR) == {START: (80, 9), START + HOUR: (3, 4)}
    (kept,) = UsageHour.objects.all()
    assert (kept.memory_limit_bytes, kept.disk_total_bytes) == (512 * MIB, 2048 * MIB)


def test_what_is_unknown_hides_nothing_and_is_nothing_by_itself(running: Agent, measure: Measure) -> None:
    measure(running, START, memory=7, disk=None)
    measure(running, START + timedelta(minutes=1), memory=None, disk=2)
    measure(running, START + HOUR, memory=None, disk=3)
    assert history(running, START + HOUR) == {START: (7, 2), START + HOUR: (None, 3)}


def test_an_hour_without_a_measurement_is_left_out(running: Agent, measure: Measure) -> None:
    measure(running, START, memory=4, disk=4)
    measure(running, START + 5 * HOUR, memory=5, disk=5)
    measure(running, START + 6 * HOUR, memory=6, disk=6)
    assert list(history(running, START + 6 * HOUR)) == [START, START + 5 * HOUR, START + 6 * HOUR]


def test_the_last_hour_of_an_agent_that_stops_is_kept(running: Agent, make_agent: MakeAgent, measure: Measure) -> None:
    another = settle(make_agent())
    measure(running, START, memory=9, disk=9)
    assert list(history(running, START)) == [START]
    measure(another, START + HOUR)
    measure(another, START + 2 * HOUR)
    measure(running, START + 3 * HOUR, memory=1, disk=1)
    assert history(running, START + 3 * HOUR) == {START: (9, 9), START + 3 * HOUR: (1, 1)}


def test_any_minutes_in_any_order_of_agents_come_out_as_the_highest_of_each_hour(
    make_agent: MakeAgent, measure: Measure
) -> None:
    """The results are compared with a list of all measurements."""
    draw, now = random.Random(7), START
    agents = [settle(make_agent()) for _ in range(3)]
    told: dict[tuple[Agent, datetime], list[tuple[int, int]]] = {}
    for _ in range(60):
        now += timedelta(minutes=draw.choice([1, 7, 19, 61, 130]))
        agent, memory, disk = draw.choice(agents), draw.randrange(500), draw.randrange(2000)
        measure(agent, now, memory=memory, disk=disk)
        told.setdefault((agent, now.replace(minute=0)), []).append((memory, disk))
    for agent in agents:
        expected = {at: tuple(map(max, zip(*those, strict=True))) for (who, at), those in told.items() if who == agent}
        assert history(agent, now) == expected


def test_it_takes_one_statement_more_once_an_hour_for_any_number_of_agents(
    make_agent: MakeAgent, measure: Measure
) -> None:
    agents = [settle(make_agent()) for _ in range(3)]
    counts = []
    for minute in (0, 1, 60, 61):
        samples = {agent.namespace: Usage(memory_bytes=MIB, disk_bytes=MIB) for agent in agents}
        with CaptureQueriesContext(connection) as statements:
            sampling.record(samples, now=START + timedelta(minutes=minute))
        counts.append(len([one for one in statements if "INTO agents_usagehour" in one["sql"]]))
    assert counts == [1, 1, 1, 0], "until a first hour is kept each minute looks"
    assert UsageHour.objects.count() == 3


@pytest.mark.parametrize("old", [0, 3, 4])
def test_hours_older_than_thirty_days_are_forgotten_some_at_a_time(
    running: Agent, monkeypatch: pytest.MonkeyPatch, old: int
) -> None:
    monkeypatch.setattr(usage_hours, "FORGOTTEN_AT_ONCE", 2)
    now = timezone.now()
    UsageHour.objects.bulk_create(
        UsageHour(agent=running, at=now - 30 * DAY + ago * HOUR, disk_used_bytes=1) for ago in (*range(-old, 0), 1, 2)
    )
    with CaptureQueriesContext(connection) as statements:
        tasks.forget_messages()
    assert UsageHour.objects.count() == 2
    assert len([one for one in statements if "usagehour" in one["sql"]]) == old // 2 + 1


def test_it_goes_with_its_owners_account(running: Agent, owner: User, measure: Measure) -> None:
    now = usage_hours.beginning(timezone.now())
    for hours in (2, 1, 0):
        measure(running, now - hours * HOUR)
    assert UsageHour.objects.exists()
    personal.erase(owner)
    assert not UsageHour.objects.exists()
    assert not AgentQuota.objects.exists()


@time_machine.travel(START, tick=False)
def test_a_measurement_of_an_earlier_time_does_no_harm(running: Agent, measure: Measure) -> None:
    """For example, after a clock was set back."""
    measure(running, START, memory=2)
    measure(running, START + HOUR, memory=3)
    measure(running, START - HOUR, memory=4)
    measure(running, START + HOUR, memory=1)
    assert history(running, START + HOUR)[START] == (2, 1)
