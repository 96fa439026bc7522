"""What the agent has left after a disabled key, a refunded payment or plan, or when only a gift remains."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from agents.models import Agent
from billing import corrections, moving, next_plans, part_refunds
from billing.models import NextPlan, Payment, Subscription
from billing.vocabulary import Period, Provider
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay, tick
from tests.billing.licences import activate, check
from tests.doubles.gumroad_server import DISABLED, GumroadSale, GumroadServer

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

WHY = {"reason": "asked", "actor": "operator:usr_0"}


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def row(agent: Agent) -> Subscription:
    return Subscription.objects.paid().get(agent=agent)


def charged() -> int:
    return sum(int(one.amount or 0) for one in Payment.objects.filter(kind__in=["payment", "renewal"]))


def test_a_key_that_was_disabled_and_is_enabled_again_is_no_second_charge_though_a_part_went_back(
    agent: Agent, gumroad: GumroadServer, sale: GumroadSale, clock: Clock
) -> None:
    paid = Payment.objects.get(agent=agent, kind="payment")
    sale.gone = DISABLED
    check(clock, DAY)
    part_refunds.refund_part(paid, amount=100, now=clock.now, **WHY)
    sale.gone = ""
    check(clock, DAY + timedelta(hours=1))
    activate(agent, clock)
    assert (row(agent).is_live, charged()) == (True, 500)


def test_a_payment_that_is_refunded_leaves_the_plan_that_the_payment_before_it_had_brought(
    agent: Agent, clock: Clock, pay: Pay
) -> None:
    """Without the third payment, the plan is small until the converted rest of the year is used up."""
    pay(agent, "year", period=Period.ANNUAL, price_usd=Decimal(50))
    clock.at(FREE_UNTIL + DAY)
    pay(agent, "upgrade", tier="small", price_usd=Decimal(10))
    agent = tick(agent, clock)
    without = row(agent).current_period_end
    again = pay(agent, "again", tier="small", price_usd=Decimal(10))
    clock.go(40 * DAY)  # the upgrade's month is used up: the rest of the year now runs as small
    agent = tick(agent, clock)
    corrections.refund_payment(again, now=clock.now, **WHY)
    agent = tick(agent, clock)
    assert (agent.tier, row(agent).current_period_end) == ("small", without)


def test_a_plan_that_was_chosen_for_a_subscription_that_is_over_says_nothing_about_another_one(
    agent: Agent, clock: Clock, pay: Pay, make_agent: MakeAgent
) -> None:
    clock.at(FREE_UNTIL + DAY)
    bought = pay(agent, "small", tier="small", price_usd=Decimal(10))
    agent = settle(agent)
    next_plans.choose(agent.user, row(agent).pk, tier="tiny", actor="user:x", now=clock.now)
    corrections.refund_payment(bought, now=clock.now, **WHY)
    tick(agent, clock)
    given = make_agent()
    pay(given, "medium", tier="medium", price_usd=Decimal(19))
    Agent.objects.filter(pk=given.pk).update(desired="deleted", term_due_at=clock.now)
    tick(given, clock)
    clock.go(DAY)
    moved = moving.move(agent.user, row(given).pk, to=agent, actor="user:x", now=clock.now)
    assert next_plans.following(moved, now=clock.now) is None
    assert not NextPlan.objects.exists()


def test_given_days_that_are_left_alone_are_by_nobody(agent: Agent, clock: Clock, pay: Pay) -> None:
    """Otherwise the daily check reports that no paid order of that provider paid for them."""
    pay(agent, "tiny", provider=Provider.USDT)
    pay(agent, "medium", tier="medium", price_usd=Decimal(19))
    corrections.credit(agent, days=10, now=clock.now, **WHY)
    corrections.refund(agent, now=clock.now, **WHY)
    assert (row(agent).provider, row(agent).is_live) == (None, True)
