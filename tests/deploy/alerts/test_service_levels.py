"""What is promised is really not kept: the alert fires, its runbook is followed, and the alert ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts.models import User
from agents.models import Agent
from agents.runtimes.base import Phase
from status.overview import facts
from tests.agents.conftest import MakeAgent, settle
from tests.deploy.alerts.conftest import WatchedPlatform
from tests.deploy.alerts.judging import managed, says
from tests.doubles.receiver import Receiver
from tests.doubles.runtime import ScriptedRuntime
from tests.webhooks.conftest import agent_of, emit

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("one_clock")]

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
AGO = timedelta(minutes=20)


@pytest.fixture(autouse=True)
def moment() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as traveller:  # far from midnight, when a day's events begin at 0
        yield traveller


def test_slo_burning_fast(watched: WatchedPlatform, owner: User, receiver: Receiver) -> None:
    def happen(*, ago: timedelta) -> None:
        for _ in range(10):
            emit(agent_of(owner, receiver.url), now=timezone.now() - ago)

    happen(ago=AGO)
    managed("WorkOverdue")  # the workers come back: what waited is sent, too late
    happen(ago=AGO)  # and are gone again
    facts.measure(now=timezone.now())
    assert {"SloBurningFast", "WorkOverdue"} <= watched.fires()
    says("SloBurningFast", '`agentpods_oldest_due_seconds{work="deliveries"}`')
    says("SloBurningFast", "Follow the runbook of the more exact alert that fires beside this one")
    assert "left, deliveries to be tried again: 0" in managed("WorkOverdue")
    facts.measure(now=timezone.now())
    watched.look()
    happen(ago=timedelta())
    managed("WorkOverdue")
    facts.measure(now=timezone.now())
    assert len(receiver.received) == 30
    assert not {"SloBurningFast", "WorkOverdue"} & watched.fires()


def test_slo_burning_slow(
    watched: WatchedPlatform,
    console: Client,
    make_agent: MakeAgent,
    runtime: ScriptedRuntime,
    moment: time_machine.Traveller,
) -> None:
    def start(count: int, *, takes: timedelta) -> list[Agent]:
        """So many agents of as many people start, and each is ready after this time."""
        runtime.comes_up_as = Phase.STARTING
        people = [User.objects.create_user(f"p{User.objects.count()}@example.com") for _ in range(count)]
        agents = [settle(make_agent(person), rounds=2) for person in people]
        moment.shift(takes)
        for agent in agents:
            runtime.set(agent.namespace, phase=Phase.READY)
        agents = [settle(agent) for agent in agents]
        moment.shift(timedelta(minutes=3))  # only then it is decided what they were
        facts.measure(now=timezone.now())
        return agents

    late = start(6, takes=timedelta(minutes=5))
    start(9, takes=timedelta(seconds=20))
    fires = watched.fires()
    assert "SloBurningSlow" in fires
    assert "SloBurningFast" not in fires
    says("SloBurningSlow", "the starts in *Transitions*, by engine and cluster")
    shown = console.get("/admin/agents/transition/").content.decode()
    assert all(agent.pk in shown for agent in late)
    says("SloBurningSlow", "Repair what the look showed")
    start(9, takes=timedelta(seconds=20))
    assert "SloBurningSlow" not in watched.fires()
