"""A licence changes from yearly to monthly at its provider.

The charge so far was for a year. Each later month is a charge of its own, whatever happened to the licence here.
"""

from __future__ import annotations

from typing import Any

import pytest

from agents.models import Agent
from agents.running import lifecycle
from billing import corrections
from billing.models import Payment, Subscription
from billing.vocabulary import Provider, SubscriptionStatus
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock
from tests.billing.late_charges import BY, income
from tests.billing.lemonsqueezy_charges import amounts
from tests.billing.licences import LEMON, activate, check
from tests.billing.test_one_charge import bought, days
from tests.doubles.gumroad_server import GumroadSale, GumroadServer
from tests.doubles.lemonsqueezy_server import API_KEY, LemonSqueezyLicence, LemonSqueezyServer

pytestmark = pytest.mark.django_db

MONTHLY = 101


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    clock.at(FREE_UNTIL + DAY)
    return running


@pytest.fixture
def by_the_year(agent: Agent, gumroad: GumroadServer, clock: Clock) -> GumroadSale:
    found = bought(agent, gumroad, clock, recurrence="yearly")
    clock.go(3 * DAY)
    return found


@pytest.mark.sampled
def test_the_month_that_ends_with_the_year_is_charged_too(by_the_year: GumroadSale, clock: Clock) -> None:
    by_the_year.recurrence = "monthly"
    days(clock, 1)
    for _ in range(13):
        check(clock, 31 * DAY)
    assert income() == 500 + 13 * 500


def test_what_an_operator_refunded_stays_refunded_until_the_next_month(
    by_the_year: GumroadSale, agent: Agent, clock: Clock
) -> None:
    by_the_year.recurrence = "monthly"
    days(clock, 1)
    corrections.refund(agent, now=clock.now, **BY)
    days(clock, 3)
    assert (income(), Subscription.objects.get().status) == (0, SubscriptionStatus.EXPIRED)
    check(clock, 31 * DAY)
    assert (income(), Subscription.objects.get().status) == (500, SubscriptionStatus.ACTIVE)


def test_a_change_after_an_operators_refund_is_no_charge(by_the_year: GumroadSale, agent: Agent, clock: Clock) -> None:
    corrections.refund(agent, now=clock.now, **BY)
    by_the_year.recurrence = "monthly"
    days(clock, 3)
    assert (income(), Subscription.objects.get().status) == (0, SubscriptionStatus.EXPIRED)
    check(clock, 31 * DAY)
    assert (income(), Subscription.objects.get().status) == (500, SubscriptionStatus.ACTIVE)


def test_a_change_after_the_agent_was_deleted_is_no_charge_and_each_month_after_it_is(
    by_the_year: GumroadSale, agent: Agent, clock: Clock
) -> None:
    lifecycle.delete(agent, actor="user:x")
    days(clock, 1)
    by_the_year.recurrence = "monthly"
    days(clock, 3)
    assert (income(), Payment.objects.open().exists()) == (500, False)
    for _ in range(2):
        check(clock, 31 * DAY)
    assert (income(), Payment.objects.open().count()) == (1500, 2)


def test_a_key_that_has_changed_pays_for_another_agent_with_the_money_that_came(
    by_the_year: GumroadSale, agent: Agent, clock: Clock, make_agent: MakeAgent
) -> None:
    other = settle(make_agent(agent.user))
    lifecycle.delete(agent, actor="user:x")
    days(clock, 1)
    by_the_year.recurrence = "monthly"
    activate(other, clock)
    assert (income(), Subscription.objects.paid().get().period) == (500, "monthly")
    check(clock, 31 * DAY)
    assert income() == 1000


def test_an_earlier_end_is_no_charge_once_the_agent_is_deleted(
    by_the_year: GumroadSale, agent: Agent, clock: Clock
) -> None:
    lifecycle.delete(agent, actor="user:x")
    days(clock, 1)
    by_the_year.purchase = {"subscription_cancelled_at": f"{clock.now + 60 * DAY:%Y-%m-%dT%H:%M:%SZ}"}
    days(clock, 2)
    assert (income(), Payment.objects.open().exists()) == (500, False)


@pytest.fixture
def lemons(agent: Agent, clock: Clock, lemon: LemonSqueezyServer, settings: Any) -> LemonSqueezyLicence:
    """A year of tiny, changed to monthly after ten days."""
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    clock.at(NOON)
    licence = lemon.sell(LEMON, 103, expires_at="2027-11-21T12:00:00.000000Z")
    licence.charge("2026-11-21T12:00:00.000000Z", 9000)
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    clock.go(10 * DAY)
    licence.variant, licence.expires_at = MONTHLY, "2026-12-21T12:00:00.000000Z"
    check(clock, DAY)
    return licence


def charge_three_months(licence: LemonSqueezyLicence) -> None:
    for month in ("2026-12", "2027-01", "2027-02"):
        licence.charge(f"{month}-21T12:00:00.000000Z", 900)
    licence.expires_at = "2027-03-21T12:00:00.000000Z"


def test_months_that_nobody_saw_are_in_the_ledger_though_the_year_had_lasted_longer(
    agent: Agent, lemons: LemonSqueezyLicence, clock: Clock
) -> None:
    charge_three_months(lemons)
    check(clock, at=NOON.replace(year=2027, month=2, hour=14))
    check(clock, DAY)
    assert [amount for _, amount in amounts(agent) if amount] == [9000, 900, 900, 900]


def test_what_goes_back_of_each_month_is_of_that_month_not_of_the_year(
    agent: Agent, lemons: LemonSqueezyLicence, clock: Clock
) -> None:
    charge_three_months(lemons)
    check(clock, at=NOON.replace(year=2027, month=2, hour=14))
    for charge in lemons.charges[1:3]:
        charge.give_back()
        check(clock, DAY)
    back = Payment.objects.filter(kind="refund")
    assert sorted((str(row.refund_of and row.refund_of.period), int(row.amount or 0)) for row in back) == [
        ("monthly", 900),
        ("monthly", 900),
    ]
