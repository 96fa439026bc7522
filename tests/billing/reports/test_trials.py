"""Trials that are paid and agents that end, by persona, engine and tier."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agents.models import Agent
from agents.running import lifecycle
from billing.models import Lapse
from billing.reports import months, tables, trials
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import NOON, Clock, Pay

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

LATER = datetime(2027, 1, 15, tzinfo=UTC)


def test_churn_is_what_ended_of_what_was_paid_when_the_month_began(
    clock: Clock, make_agent: MakeAgent, pay: Pay, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = [User.objects.create_user(f"{name}@example.com") for name in ("ann", "ben", "cid")]
    paid, ended, free = (make_agent(user=one) for one in owners)
    Agent.objects.filter(pk=free.pk).update(persona_id="another")
    pay(paid, "first")
    pay(paid, "second")  # the same agent twice
    pay(ended, "third")
    Lapse.objects.create(agent=ended, mode="paid", stopped_at=datetime(2026, 12, 20, tzinfo=UTC))
    asked = months.months("2026-11", "2027-02")
    with CaptureQueriesContext(connection) as statements:
        lines = dict(trials.trials(asked, now=LATER))
    assert len(statements) == 3
    persona = paid.persona_id
    told = {
        (f"{month:%Y-%m}", name): (line.trials, line.bought, line.converted, line.paid, line.ended, line.churn)
        for (by, month, name), line in lines.items()
        if by == "persona"
    }
    assert told == {
        ("2026-11", persona): (2, 2, "100.0", 0, 0, ""),
        ("2026-11", "another"): (1, 0, "0.0", 0, 0, ""),
        ("2026-12", persona): (0, 0, "", 2, 1, "50.0"),
        # Two months were bought for one agent, one for the other. February has not begun.
        ("2027-01", persona): (0, 0, "", 1, 0, "0.0"),
    }
    table = tables.table("trials", asked, now=LATER)
    assert table is not None
    assert f"engine,2026-12,{paid.engine},0,0,,2,1,50.0" in tables.as_csv(table)
    monkeypatch.setattr(trials, "MOST_NAMED", 1)
    names = {name for (by, _, name), _ in trials.trials(asked, now=NOON + timedelta(days=1)) if by == "persona"}
    assert names == {persona, "(others)"}


def test_a_payment_that_bought_nothing_converts_no_trial(clock: Clock, make_agent: MakeAgent, pay: Pay) -> None:
    bought, gone = (make_agent(user=User.objects.create_user(f"{name}@example.com")) for name in ("ann", "ben"))
    pay(bought, "first")
    lifecycle.delete(gone, actor="user:ben")
    assert pay(gone, "late").unapplied
    lines = dict(trials.trials(months.months("2026-11", "2026-11"), now=LATER))
    (line,) = [line for (by, _, _), line in lines.items() if by == "persona"]
    assert (line.trials, line.bought, line.converted) == (2, 1, "50.0")
