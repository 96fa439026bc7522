"""What contradicts the invariants is found, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command

from agents.models import Agent, Desired, Reason, Status
from billing import corrections, invariants
from billing.models import Subscription
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, NOON, Clock, Pay, tick

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
    "runs, and what it may run on ended": {"entitled_until": NOON - DAY},
    "still stopped for want of payment": {
        "desired": Desired.STOPPED,
        "status": Status.STOPPED,
        "operation": Reason.TRIAL,
        "paid": True,
        "status_since": NOON - DAY,
        "term_due_at": None,
    },
    "carries paid=True": {"paid": True, "term_due_at": None},
    "was due": {"term_due_at": NOON - DAY},
}


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
    assert "hold" in capsys.readouterr().out
    assert invariants.report() == 0
    assert mail.outbox == []
