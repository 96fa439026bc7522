"""Times are in UTC, and a worker with a wrong clock does nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from celery import current_app

from accounts.models import User
from agents.models import Agent
from billing import dunning, tasks
from config.clock import ClockDiffers
from tests.agents.conftest import MakeAgent, signed_in
from tests.billing.conftest import DAY, NOON, Clock, Pay, tick
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def test_a_change_of_summer_time_moves_no_date(make_agent: MakeAgent, owner: User, clock: Clock, pay: Pay) -> None:
    # 02:30 in Berlin, an hour that does not exist on the last Sunday of March.
    clock.at(datetime(2027, 3, 1, 1, 30, tzinfo=UTC))
    agent = make_agent(timezone="Europe/Berlin")
    pay(agent)
    assert signed_in(owner).get(f"/agents/{agent.pk}/term").json()["term"]["paidTill"] == "2027-04-08T01:30:00Z"


@pytest.mark.parametrize("wrong", [timedelta(days=8), timedelta(minutes=2), -timedelta(minutes=2)])
def test_a_worker_whose_clock_is_wrong_stops_nobody(running: Agent, wrong: timedelta) -> None:
    Agent.objects.filter(pk=running.pk).update(term_due_at=running.created_at)
    with time_machine.travel(datetime.now(UTC) + wrong), pytest.raises(ClockDiffers):
        tasks.step_due()
    with time_machine.travel(datetime.now(UTC) + wrong), pytest.raises(ClockDiffers):
        tasks.step(running.pk)
    assert not Event.objects.filter(agent=running, type="deletion.warning").exists()


@pytest.mark.parametrize("wrong", [timedelta(days=8), -timedelta(minutes=2)], ids=["ahead", "behind"])
@pytest.mark.parametrize("task", sorted(name for name in current_app.tasks if name.startswith("billing.")))
def test_no_worker_whose_clock_is_wrong_decides_anything_about_money(db: None, task: str, wrong: timedelta) -> None:
    given = ["agt_1"] if task in {"billing.step", "billing.stop_card", "billing.verify"} else []
    with time_machine.travel(datetime.now(UTC) + wrong), pytest.raises(ClockDiffers):
        current_app.tasks[task](*given)


def test_a_worker_whose_clock_is_right_takes_the_steps_that_are_due(running: Agent) -> None:
    Agent.objects.filter(pk=running.pk).update(term_due_at=running.created_at)
    tasks.step_due()
    running.refresh_from_db()
    assert running.entitled_until is not None
    assert running.term_due_at == running.entitled_until - 3 * DAY


def test_a_worker_that_is_a_little_behind_says_nothing_again(running: Agent, clock: Clock) -> None:
    clock.at(NOON + 5 * DAY)
    tick(running, clock)
    dunning.step(running.pk, now=clock.now - timedelta(seconds=30))
    assert Event.objects.filter(agent=running, type="deletion.warning").count() == 1
