"""Time bought beside a licence, when the licence's provider is silent, late, or changes its answer."""

from __future__ import annotations

from datetime import datetime

import pytest

from accounts.models import User
from agents import suspension
from agents.models import Agent
from billing import agent_terms, corrections, invariants, licences, revocations, unused_time
from billing.licences import Key, Sold
from billing.models import Subscription
from billing.providers.base import ProviderAnswer, Verdict
from billing.vocabulary import PaymentKind, Period, Provider
from catalog.tiers import tier_of
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, NOON, Clock, Pay
from tests.billing.licences import kinds

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

OPERATOR = "operator:usr_0"
END = NOON + 30 * DAY


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture(autouse=True)
def sound(clock: Clock) -> object:
    yield
    found = invariants.broken(now=clock.now)
    assert [one for one in found if "spans" in one or "no row" in one or "another's" in one] == []


def sold(agent: Agent, clock: Clock, till: datetime) -> Subscription:
    verdict = Verdict(
        answer=ProviderAnswer.PAID,
        external_ref="membership-1",
        till=till,
        tier="tiny",
        period=Period.MONTHLY,
        price_usd=tier_of("tiny").monthly_usd,
    )
    one = Sold(key=Key(provider=Provider.GUMROAD, text="KEY"), verdict=verdict)
    return licences.receive(agent.pk, one, actor="billing", now=clock.now).subscription


def till(agent: Agent, clock: Clock) -> datetime | None:
    return agent_terms.term(agent, now=clock.now).paid_till


def test_a_renewal_that_is_seen_late_takes_nothing_of_what_is_beside_it(agent: Agent, pay: Pay, clock: Clock) -> None:
    sold(agent, clock, END)
    pay(agent)
    clock.at(END + 5 * DAY)
    sold(agent, clock, END + 30 * DAY)
    assert till(agent, clock) == END + 60 * DAY


def test_a_refund_beside_a_licence_whose_provider_is_silent_does_not_end_it(
    agent: Agent, pay: Pay, clock: Clock
) -> None:
    row = sold(agent, clock, END)
    coins = pay(agent)
    clock.at(END + DAY)
    corrections.refund_payment(coins, reason="asked", actor=OPERATOR, now=clock.now)
    row.refresh_from_db()
    assert row.is_live
    assert row.check_at is not None
    sold(agent, clock, END + 30 * DAY)
    assert till(agent, clock) == END + 30 * DAY


def test_what_is_beside_it_stands_still_in_a_suspension_that_outlasts_it(
    agent: Agent, pay: Pay, clock: Clock, owner: User
) -> None:
    row = sold(agent, clock, END)
    pay(agent)
    clock.at(END - DAY)
    suspension.suspend(owner, reason="spam", actor=OPERATOR)
    clock.at(END + 10 * DAY)
    suspension.restore(owner, actor=OPERATOR)
    revocations.revoke(row.pk, reason="it ended", actor="billing", now=clock.now)
    assert till(agent, clock) == END + 40 * DAY


def test_what_a_provider_takes_back_and_gives_again_is_charged_once(agent: Agent, clock: Clock) -> None:
    row = sold(agent, clock, END)
    clock.go(DAY)
    revocations.revoke(row.pk, reason="disabled", actor="billing", now=clock.now)
    clock.go(DAY)
    sold(agent, clock, END)
    assert kinds(agent) == ["payment", "revoke", "restored"]
    assert [one.amount for one in agent.payments.order_by("at")][1:] == [None, None]
    clock.go(DAY)
    revocations.revoke(row.pk, reason="refunded", actor="billing", now=clock.now, went_back=True)
    clock.go(DAY)
    sold(agent, clock, END)
    charged = agent.payments.filter(kind=PaymentKind.RENEWAL).get()
    assert charged.amount == agent.payments.get(kind=PaymentKind.PAYMENT).amount


def test_a_licence_that_moved_here_can_be_refunded_with_its_amount(
    agent: Agent, make_agent: MakeAgent, clock: Clock
) -> None:
    row = sold(agent, clock, END)
    charged = agent.payments.get().amount
    heir = settle(make_agent())
    unused_time.end_licence(agent, row, at=clock.now, actor="x", now=clock.now, note="its key moved")
    got = sold(heir, clock, END)
    revocations.revoke(got.pk, reason="refunded", actor="billing", now=clock.now, went_back=True)
    assert heir.payments.get(kind=PaymentKind.REVOKE).amount == charged
    clock.go(DAY)
    sold(heir, clock, END)
    corrections.refund(heir, reason="asked", actor=OPERATOR, now=clock.now)
    assert not till(heir, clock)


def test_a_licence_of_the_same_plan_converts_nothing(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    sold(agent, clock, END)
    assert agent.payments.get(provider=Provider.GUMROAD).converted.total_seconds() == 0
    assert till(agent, clock) == END + 30 * DAY
