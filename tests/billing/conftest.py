"""Agents and their owner as in tests/agents, a clock that tests move, and payments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine

from agents.models import Agent, Desired
from billing import dunning, payments
from billing.models import Payment
from billing.payments import Receipt
from billing.subscriptions import Licence, Purchase
from billing.vocabulary import Period, Provider
from tests.agents.conftest import catalog, client, make_agent, other, owner, running, runtime, settle, stranger

__all__ = ["catalog", "client", "make_agent", "other", "owner", "running", "runtime", "stranger"]

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = timedelta(days=1)
FREE_UNTIL = NOON + 7 * DAY  # the end of the free days of an agent that was created at noon; paid time begins here

SNAPSHOTS = {
    "tiny": {"id": "tiny", "monthlyUsd": 5, "annualUsd": 50},
    "small": {"id": "small", "monthlyUsd": 10, "annualUsd": 100},
}

Pay = Callable[..., Payment]


class Clock:
    """Frozen time; `go` moves it and then runs everything that is due."""

    def __init__(self, traveller: time_machine.Traveller) -> None:
        self._traveller = traveller
        self.now = NOON

    def at(self, moment: datetime) -> datetime:
        self.now = moment
        self._traveller.move_to(moment)
        return moment

    def go(self, by: timedelta) -> datetime:
        return self.at(self.now + by)


@pytest.fixture
def clock(one_clock: None) -> Iterator[Clock]:
    with time_machine.travel(NOON, tick=False) as traveller:
        yield Clock(traveller)


@pytest.fixture(autouse=True)
def clock_first(request: pytest.FixtureRequest) -> None:
    """Freeze the clock before agents are created, whatever the order of the fixtures in a test."""
    if "clock" in request.fixturenames:
        request.getfixturevalue("clock")


def tick(agent: Agent, clock: Clock) -> Agent:
    """Run billing and the reconciler until nothing is due now."""
    for _ in range(10):
        dunning.step_due(now=clock.now)
        agent = settle(agent)
        due = agent.term_due_at
        if due == clock.now + dunning.STOPPING and agent.desired == Desired.STOPPED:
            clock.at(due)
        elif due is None or due > clock.now:
            return agent
    raise AssertionError("billing does not come to rest")


def purchase(**changes: Any) -> Purchase:
    values: dict[str, Any] = {
        "provider": Provider.USDC,
        "tier": "tiny",
        "period": Period.MONTHLY,
        "price_usd": Decimal("5.00"),
    }
    tier = changes.get("tier", values["tier"])
    return Purchase(**{**values, "tier_snapshot": SNAPSHOTS.get(tier, {"id": tier}), **changes})


def licence(till: datetime, *, key: str = "KEY-1", ref: str = "sub-1") -> Licence:
    return Licence(key=key, fingerprint=f"print of {key}", external_ref=ref, till=till)


@pytest.fixture
def pay(clock: Clock) -> Pay:
    """Records a payment for an agent, as the driver of a payment provider does."""

    def paid(agent: Agent, external_id: str = "one", **changes: Any) -> Payment:
        bought = purchase(**changes)
        provider = bought.provider or Provider.INTERNAL
        receipt = Receipt(provider=provider, external_id=external_id, agent_id=agent.pk, purchase=bought)
        return payments.apply_payment(receipt, now=clock.now)

    return paid
