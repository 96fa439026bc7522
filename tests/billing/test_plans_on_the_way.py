"""An agent had one plan, then a second, then a third, and the payment for the third is gone: it has the second again.

A used-up payment still counts for its plan. Only if that payment went back too, the agent has the first plan.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from agents.models import Agent
from billing import agent_terms, corrections, invariants, moving
from billing.models import Payment, Subscription
from billing.vocabulary import Period, Provider
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay, tick
from tests.billing.licences import KEY, SMALL, activate, check
from tests.doubles.gumroad_server import GumroadServer

pytestmark = pytest.mark.django_db

WHY = {"reason": "asked", "actor": "operator:usr_0"}
USD = {"tiny": 5, "small": 10, "medium": 19}
Held = tuple[str, str, datetime | None]

up_and_down = pytest.mark.parametrize(
    "plans", [("tiny", "small", "medium"), ("medium", "small", "tiny"), ("tiny", "medium", "small")], ids="-".join
)
used_or_left = pytest.mark.parametrize("waits", [40 * DAY, 10 * DAY], ids=["used up", "partly left"])
at_once_or_later = pytest.mark.parametrize("later", [timedelta(0), 3 * DAY], ids=["at once", "later"])


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    clock.at(FREE_UNTIL + DAY)
    return running


@pytest.fixture(autouse=True)
def sound(clock: Clock) -> object:
    yield
    found = invariants.broken(now=clock.now)
    assert [one for one in found if "spans" in one or "no row" in one or "another's" in one] == []


def held(agent: Agent, clock: Clock) -> Held:
    """The agent's plan, the plan that it pays for, and the end of its paid time."""
    agent = tick(agent, clock)
    row = Subscription.objects.paid().get(agent=agent)
    return agent.tier, row.tier, agent_terms.term(agent, now=clock.now).paid_till


def plus(was: Held, by: timedelta) -> Held:
    """The same, but later: this much time was not used, because other time ran."""
    assert was[2] is not None
    return was[0], was[1], was[2] + by


def year(agent: Agent, pay: Pay, tier: str) -> Payment:
    """A year at half its price."""
    return pay(agent, f"year of {agent.pk}", tier=tier, period=Period.ANNUAL, price_usd=Decimal(USD[tier] * 5))


def month(agent: Agent, pay: Pay, tier: str, name: str = "month", **how: Provider) -> Payment:
    return pay(agent, f"{name} of {tier}", tier=tier, price_usd=Decimal(USD[tier]), **how)


def refund(payment: Payment, clock: Clock) -> None:
    corrections.refund_payment(payment, now=clock.now, **WHY)


def told(clock: Clock) -> str:
    """The present time in Gumroad's format."""
    return f"{clock.now:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.sampled
@up_and_down
@used_or_left
@at_once_or_later
def test_a_third_plan_that_is_refunded_leaves_the_second(
    agent: Agent, clock: Clock, pay: Pay, plans: tuple[str, str, str], waits: timedelta, later: timedelta
) -> None:
    year(agent, pay, plans[0])
    month(agent, pay, plans[1])
    clock.go(waits)
    without = held(agent, clock)
    assert without[:2] == (plans[1], plans[1])
    third = month(agent, pay, plans[2])
    clock.go(later)
    assert held(agent, clock)[:2] == (plans[2], plans[2])
    refund(third, clock)
    assert held(agent, clock) == plus(without, later)


@pytest.mark.sampled
@up_and_down
@pytest.mark.parametrize("order", [(2, 1), (1, 2)], ids=["third first", "second first"])
@at_once_or_later
def test_where_the_second_is_refunded_too_it_is_the_first_again_with_all_of_its_time(
    agent: Agent, clock: Clock, pay: Pay, plans: tuple[str, str, str], order: tuple[int, int], later: timedelta
) -> None:
    year(agent, pay, plans[0])
    without = held(agent, clock)
    bought = {1: month(agent, pay, plans[1])}
    clock.go(later)
    bought[2] = month(agent, pay, plans[2])
    for one in order:
        refund(bought[one], clock)
    assert held(agent, clock) == plus(without, later)


def test_the_plan_of_a_payment_that_is_used_up_is_the_agents_once_all_else_has_gone_back(
    agent: Agent, clock: Clock, pay: Pay
) -> None:
    """Days given on the dearer plan keep their value: 9 USD a month there, 5 here."""
    month(agent, pay, "tiny")
    rest = month(agent, pay, "tiny", "second month")
    clock.go(40 * DAY)
    dearer = month(agent, pay, "small")
    corrections.credit(agent, days=19, reason="an outage", actor="operator:x", now=clock.now)
    refund(dearer, clock)
    refund(rest, clock)
    tier, plan, till = held(agent, clock)
    assert (tier, plan) == ("tiny", "tiny")
    assert till is not None
    assert abs(till - (clock.now + 19 * DAY * 9 / 5)) < timedelta(seconds=2)


def test_a_second_plan_whose_used_up_payment_was_sent_back_is_no_plan_to_go_back_to(
    agent: Agent, clock: Clock, pay: Pay
) -> None:
    """The part of the year that ran on the second plan stays used."""
    year(agent, pay, "tiny")
    bought = clock.now
    second = month(agent, pay, "small")
    end = agent_terms.term(agent, now=clock.now).paid_till
    clock.go(40 * DAY)
    third = month(agent, pay, "medium")
    refund(second, clock)
    refund(third, clock)
    tier, plan, till = held(agent, clock)
    assert end is not None
    assert till is not None
    on_small = end - (bought + 30 * DAY)  # this much of the year's value ran on small
    part = (end - clock.now) / on_small
    assert (tier, plan) == ("tiny", "tiny")
    assert abs(till - (clock.now + 365 * DAY * part)) < timedelta(seconds=2)


@pytest.mark.sampled
@used_or_left
@pytest.mark.parametrize("later", [DAY, 3 * DAY], ids=["a day", "three days"])
def test_a_licence_as_the_third_leaves_the_second(
    agent: Agent, gumroad: GumroadServer, clock: Clock, pay: Pay, waits: timedelta, later: timedelta
) -> None:
    year(agent, pay, "tiny")
    month(agent, pay, "medium")
    clock.go(waits)
    without = held(agent, clock)
    sold = gumroad.sell(KEY, SMALL, sold_at=told(clock), purchase={"variants": "(Small)"})
    activate(agent, clock)
    assert held(agent, clock)[:2] == ("small", "small")
    sold.purchase = {**sold.purchase, "refunded": True}
    check(clock, later)
    assert held(agent, clock) == plus(without, later)


@used_or_left
def test_a_licence_of_the_second_plan_leaves_it(
    agent: Agent, gumroad: GumroadServer, clock: Clock, pay: Pay, waits: timedelta
) -> None:
    year(agent, pay, "tiny")
    month(agent, pay, "small")
    clock.go(waits)
    without = held(agent, clock)
    sold = gumroad.sell(KEY, SMALL, sold_at=told(clock), purchase={"variants": "(Small)"})
    activate(agent, clock)
    sold.purchase = {**sold.purchase, "refunded": True}
    check(clock, DAY)
    assert held(agent, clock) == plus(without, DAY)


def test_a_licence_that_comes_again_holds_nothing_that_was_bought_beside_it_long_ago(
    agent: Agent, gumroad: GumroadServer, clock: Clock, pay: Pay
) -> None:
    sold = gumroad.sell(KEY, SMALL, purchase={"variants": "(Small)"})
    activate(agent, clock)
    month(agent, pay, "small")
    sold.purchase = {**sold.purchase, "refunded": True}
    check(clock, DAY)
    clock.go(40 * DAY)
    tick(agent, clock)
    year(agent, pay, "tiny")
    without = held(agent, clock)
    sold.purchase = {**sold.purchase, "refunded": False}
    activate(agent, clock)
    assert held(agent, clock)[:2] == ("small", "small")
    sold.purchase = {**sold.purchase, "subscription_ended_at": told(clock)}
    check(clock, DAY)
    assert held(agent, clock) == plus(without, DAY)


def test_of_four_plans_the_last_leaves_the_third(agent: Agent, clock: Clock, pay: Pay) -> None:
    year(agent, pay, "medium")
    for tier in ("small", "tiny"):
        month(agent, pay, tier)
        clock.go(35 * DAY)
    without = held(agent, clock)
    large = pay(agent, "large", tier="large", price_usd=Decimal(39))
    clock.go(DAY)
    refund(large, clock)
    assert held(agent, clock) == plus(without, DAY)
    assert without[1] == "tiny"


def test_the_first_plan_that_was_bought_back_and_is_used_up_is_the_third(agent: Agent, clock: Clock, pay: Pay) -> None:
    """The rest of the year returned by its value, and stays so when a fourth plan is refunded."""
    year(agent, pay, "tiny")
    month(agent, pay, "small")
    clock.go(5 * DAY)
    back = month(agent, pay, "tiny")
    clock.go(33 * DAY)
    without = held(agent, clock)
    refund(month(agent, pay, "medium"), clock)
    assert held(agent, clock) == without
    refund(back, clock)
    assert held(agent, clock)[1] == "tiny"


def test_the_second_stays_when_more_of_it_is_bought_and_refunded_after_the_third(
    agent: Agent, clock: Clock, pay: Pay
) -> None:
    """Price and provider are those of the second plan's payment."""
    year(agent, pay, "tiny")
    month(agent, pay, "small", provider=Provider.USDT)
    clock.go(40 * DAY)
    without = held(agent, clock)
    refund(month(agent, pay, "medium"), clock)
    refund(month(agent, pay, "small", "more", provider=Provider.USDC), clock)
    assert held(agent, clock) == without
    row = Subscription.objects.paid().get(agent=agent)
    assert (row.provider, row.period, row.price_usd) == ("usdt", "monthly", Decimal(10))


@pytest.mark.parametrize("has_its_own", [False, True], ids=["to none", "to a larger one"])
def test_what_was_moved_from_a_deleted_agent_has_the_plans_that_it_had_there(
    agent: Agent, clock: Clock, pay: Pay, make_agent: MakeAgent, has_its_own: bool
) -> None:
    year(agent, pay, "tiny")
    month(agent, pay, "small")
    clock.go(40 * DAY)
    without = held(agent, clock)
    assert without[2] is not None
    left = without[2] - clock.now
    Agent.objects.filter(pk=agent.pk).update(desired="deleted", term_due_at=clock.now)
    parked = Subscription.objects.paid().get(agent=agent)
    tick(agent, clock)
    taker = settle(make_agent())
    clock.go(8 * DAY)  # the free days are over
    more = month(taker, pay, "medium") if has_its_own else None
    moving.move(taker.user, parked.pk, to=taker, actor="user:x", now=clock.now)
    more = more or month(taker, pay, "small", "more")
    refund(more, clock)
    assert held(taker, clock) == ("small", "small", clock.now + left)


def test_what_an_earlier_release_wrote_says_by_its_ledger_who_brought_a_plan(
    agent: Agent, clock: Clock, pay: Pay
) -> None:
    year(agent, pay, "tiny")
    month(agent, pay, "small")
    clock.go(40 * DAY)
    without = held(agent, clock)
    Subscription.objects.update(brought_by=None)
    refund(month(agent, pay, "medium"), clock)
    assert held(agent, clock) == without
