"""Once the licence or payment that brought another plan is gone, the agent has what it would have without it."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.models import Agent
from billing import agent_terms, corrections, invariants
from billing.models import Subscription
from billing.vocabulary import Period
from tests.agents.conftest import MakeAgent, settle
from tests.at_length import examples
from tests.billing.conftest import DAY, NOON, Clock, Pay
from tests.billing.licences import KEY, SMALL, activate, check
from tests.doubles.gumroad_server import GumroadServer

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

WHY = {"reason": "asked", "actor": "operator:usr_0"}


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture(autouse=True)
def sound(clock: Clock) -> object:
    yield
    found = invariants.broken(now=clock.now)
    assert [one for one in found if "spans" in one or "no row" in one or "another's" in one] == []


def held(agent: Agent, clock: Clock) -> tuple[str, str, datetime | None]:
    """The agent's plan, the plan that it pays for, and the end of its paid time."""
    agent = Agent.objects.get(pk=agent.pk)
    row = Subscription.objects.paid().get(agent=agent)
    return agent.tier, row.tier, agent_terms.term(agent, now=clock.now).paid_till


def year_of_tiny(agent: Agent, pay: Pay, clock: Clock, usd: int = 50) -> datetime:
    pay(agent, f"year of {agent.pk}", period=Period.ANNUAL, price_usd=Decimal(usd))
    till = agent_terms.term(agent, now=clock.now).paid_till
    assert till is not None
    return till


@pytest.mark.parametrize("usd", [50, 25], ids=["list price", "half of it"])
def test_a_licence_of_another_plan_that_is_refunded_leaves_what_there_was_without_it(
    agent: Agent, gumroad: GumroadServer, clock: Clock, pay: Pay, usd: int
) -> None:
    without = year_of_tiny(agent, pay, clock, usd)
    sold = gumroad.sell(KEY, SMALL, purchase={"variants": "(Small)"})
    activate(agent, clock)
    assert held(agent, clock)[:2] == ("small", "small")
    sold.purchase = {**sold.purchase, "refunded": True}
    check(clock, DAY)
    assert held(agent, clock) == ("tiny", "tiny", without)


def test_a_day_that_is_given_meanwhile_keeps_nothing_on_the_plan_of_a_refunded_licence(
    agent: Agent, gumroad: GumroadServer, clock: Clock, pay: Pay
) -> None:
    """The given day is converted by its value: a day of small is 1.8 days of tiny."""
    without = year_of_tiny(agent, pay, clock, 25)
    sold = gumroad.sell(KEY, SMALL, purchase={"variants": "(Small)"})
    activate(agent, clock)
    corrections.credit(agent, days=1, now=clock.now, **WHY)
    sold.purchase = {**sold.purchase, "refunded": True}
    check(clock, DAY)
    tier, plan, till = held(agent, clock)
    assert (tier, plan) == ("tiny", "tiny")
    assert till is not None
    assert till >= without + DAY


def test_a_licence_beside_time_of_two_plans_leaves_the_plan_that_there_was_without_it(
    agent: Agent, gumroad: GumroadServer, clock: Clock, pay: Pay
) -> None:
    """A year of tiny became some of small. A key of tiny comes and goes; then it is small until the same day."""
    year_of_tiny(agent, pay, clock, 25)
    pay(agent, "two", tier="small", price_usd=Decimal("0.90"))
    without = held(agent, clock)
    sold = gumroad.sell(KEY)
    activate(agent, clock)
    assert held(agent, clock)[:2] == ("tiny", "tiny")
    sold.purchase = {**sold.purchase, "refunded": True}
    check(clock, DAY)
    assert held(agent, clock) == without


def test_a_licence_that_ran_out_leaves_all_of_the_time_beside_it_after_it(
    agent: Agent, gumroad: GumroadServer, clock: Clock, pay: Pay
) -> None:
    clock.go(10 * DAY)
    without = year_of_tiny(agent, pay, clock)
    bought = clock.now
    began = f"{clock.now:%Y-%m-%dT%H:%M:%SZ}"
    sold = gumroad.sell(KEY, SMALL, purchase={"variants": "(Small)", "sale_timestamp": began})
    row = activate(agent, clock)
    end = row.current_period_end - row.extra
    sold.purchase = {**sold.purchase, "subscription_ended_at": f"{end:%Y-%m-%dT%H:%M:%SZ}"}
    check(clock, at=end)
    tier, plan, till = held(agent, clock)
    assert (tier, plan) == ("tiny", "tiny")
    assert till is not None
    assert abs(till - (without + (end - bought))) < timedelta(minutes=5)


def test_an_upgrade_that_is_refunded_leaves_what_there_was_without_it(agent: Agent, clock: Clock, pay: Pay) -> None:
    without = year_of_tiny(agent, pay, clock, 25)
    upgrade = pay(agent, "two", tier="small", price_usd=Decimal(9))
    assert held(agent, clock)[:2] == ("small", "small")
    corrections.refund_payment(upgrade, now=clock.now, **WHY)
    assert held(agent, clock) == ("tiny", "tiny", without)


def test_what_was_bought_for_the_larger_plan_too_keeps_it(agent: Agent, clock: Clock, pay: Pay) -> None:
    year_of_tiny(agent, pay, clock)
    upgrade = pay(agent, "two", tier="small", price_usd=Decimal(9))
    pay(agent, "three", tier="small", price_usd=Decimal(9))
    corrections.refund_payment(upgrade, now=clock.now, **WHY)
    assert held(agent, clock)[:2] == ("small", "small")


def test_who_buys_the_old_plan_back_has_the_value_at_its_list_price(agent: Agent, clock: Clock, pay: Pay) -> None:
    """A year of tiny at half its price is worth half a year, once the owner changes plans by buying."""
    year_of_tiny(agent, pay, clock, 25)
    pay(agent, "two", tier="small", price_usd=Decimal(10))
    pay(agent, "three", tier="tiny", price_usd=Decimal(5))
    till = held(agent, clock)[2]
    assert till is not None
    paid = timedelta(days=365) * 25 / 60 + timedelta(days=365) * 10 / 60  # at $5 a month
    assert abs(till - (NOON + 7 * DAY + 30 * DAY + paid)) < timedelta(minutes=1)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    months=st.integers(1, 3),
    waits=st.tuples(st.integers(0, 20), st.integers(0, 40)),
    usd=st.sampled_from([1, 5]),
    given_days=st.integers(0, 30),
)
def test_no_history_ends_earlier_for_an_upgrade_that_was_refunded(
    make_agent: MakeAgent, clock: Clock, pay: Pay, months: int, waits: tuple[int, int], usd: int, given_days: int
) -> None:
    """The same life twice, once with an upgrade that is refunded after some days."""
    clock.at(NOON)
    ends = []
    for upgraded in (False, True):
        clock.at(NOON)
        agent = settle(make_agent())
        for month in range(months):
            pay(agent, f"{agent.pk} {month}", price_usd=Decimal(usd))
        if given_days:
            corrections.credit(agent, days=given_days, now=clock.now, **WHY)
        clock.go(waits[0] * DAY)
        upgrade = pay(agent, f"{agent.pk} up", tier="small", price_usd=Decimal(9)) if upgraded else None
        clock.go(waits[1] * DAY)
        if upgrade is not None and upgrade in corrections.refundable(agent, now=clock.now):
            corrections.refund_payment(upgrade, now=clock.now, **WHY)
            assert held(agent, clock)[0] == "tiny"
        elif upgrade is not None:
            return  # the upgrade was used up, so the rest runs on its plan
        row = Subscription.objects.filter(agent=agent).latest("current_period_end")
        ends.append(row.current_period_end)
    assert ends[1] >= ends[0]
