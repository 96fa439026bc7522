"""The checks find every violation of the invariants, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command

from accounts.models import Suspension
from agents.models import Agent, Desired, Reason, Status
from billing import corrections, invariants
from billing.models import Order, Subscription
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock, Pay, tick
from webhooks import events, hooks
from webhooks.event_types import EventType

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def test_whatever_the_rules_do_breaks_none(agent: Agent, make_agent: MakeAgent, pay: Pay, clock: Clock) -> None:
    paid, granted = settle(make_agent()), settle(make_agent())
    pay(paid)
    corrections.grant(granted, reason="ours", actor="operator:x", now=clock.now)
    for days in range(0, 60, 2):
        clock.at(NOON + days * DAY)
        for one in (agent, paid, granted):
            tick(one, clock)
        assert invariants.broken(now=clock.now) == []


BREAKS: dict[str, dict[str, Any]] = {
    "no row of the ledger": {},
    "runs, but its free or paid time ended": {"entitled_until": NOON - DAY},
    "still stopped as unpaid": {
        "desired": Desired.STOPPED,
        "status": Status.STOPPED,
        "operation": Reason.TRIAL,
        "paid": True,
        "status_since": NOON - DAY,
        "term_due_at": None,
    },
    "has paid=True": {"paid": True, "term_due_at": None},
    "was due": {"term_due_at": NOON - DAY},
}


def test_a_paid_agent_that_carries_nothing_is_found_long_before_its_next_step(
    agent: Agent, pay: Pay, clock: Clock
) -> None:
    pay(agent)
    clock.go(DAY)
    Agent.objects.filter(pk=agent.pk).update(paid=False, term_due_at=NOON + 20 * DAY)
    assert invariants.broken(now=clock.now) == [f"{agent.pk} has paid=False, but its term says True"]


def test_what_a_suspension_gives_back_is_no_finding(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    Suspension.objects.create(
        user=agent.user, suspended_at=NOON, restored_at=NOON + 5 * DAY, reason="spam", suspended_by="x"
    )
    clock.at(FREE_UNTIL + 32 * DAY)
    tick(agent, clock)
    assert invariants.broken(now=clock.now) == []
    clock.at(FREE_UNTIL + 36 * DAY)
    Agent.objects.filter(pk=agent.pk).update(paid=True, entitled_until=None, term_due_at=None)
    assert f"{agent.pk} has paid=True, but its term says False" in invariants.broken(now=clock.now)


def test_a_payment_for_anothers_time_is_found(agent: Agent, make_agent: MakeAgent, pay: Pay, clock: Clock) -> None:
    row = pay(agent)
    Subscription.objects.update(agent=make_agent())
    clock.go(DAY)
    told = f"{row.pk} belongs to {agent.pk}, but it paid for another agent"
    assert told in invariants.broken(now=clock.now)


def test_a_paid_order_that_bought_nothing_is_found(agent: Agent, clock: Clock) -> None:
    Order.objects.create(
        id="cry_1",
        user_id=agent.user_id,
        agent=agent,
        provider="usdc",
        tier="tiny",
        period="monthly",
        price_usd=5,
        tier_snapshot={},
        status="paid",
        created_at=NOON,
        expires_at=NOON,
        paid_at=NOON,
    )
    assert invariants.broken(now=clock.now) == ["cry_1 is paid, but bought no subscription"]


def test_events_that_wait_for_more_than_ten_minutes_are_found(agent: Agent, clock: Clock) -> None:
    hooks.install(agent, url="https://203.0.114.7/hook", now=clock.now)
    event = events.emit(agent, EventType.AGENT_RUNNING, {}, now=clock.now)
    clock.go(timedelta(minutes=10))
    assert invariants.broken(now=clock.now) == []
    clock.go(timedelta(seconds=1))
    assert invariants.broken(now=clock.now) == [
        f"1 events wait to be sent; the oldest is {event.pk} of {agent.pk}, since 2026-11-21 12:00"
    ]


@pytest.mark.parametrize("words", BREAKS)
def test_a_hand_in_the_database_is_found_printed_and_mailed(
    agent: Agent, clock: Clock, words: str, settings: Any
) -> None:
    settings.ADMINS = [("Ops", "ops@example.com")]
    Agent.objects.filter(pk=agent.pk).update(**BREAKS[words] or {"name": agent.name})
    if not BREAKS[words]:
        row = Subscription(user_id=agent.user_id, agent=agent, tier="tiny", period="monthly", price_usd=5)
        row.current_period_end, row.created_at, row.counted_at, row.anchor_day = NOON + DAY, NOON, NOON, 21
        row.save()
    assert any(words in finding for finding in invariants.broken(now=clock.now))
    with pytest.raises(CommandError):
        call_command("check_invariants")
    assert invariants.report() >= 1
    assert words in mail.outbox[0].body


def test_all_well_is_said_and_mailed_to_nobody(agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check_invariants")
    assert "no problems" in capsys.readouterr().out
    assert invariants.report() == 0
    assert mail.outbox == []
