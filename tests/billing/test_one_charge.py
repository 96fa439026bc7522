"""A licence's charge is in the ledger once, whatever its provider reports later and whoever enters the key."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from accounts.models import Letter
from agents.models import Agent
from agents.running import lifecycle
from billing import corrections, decisions, part_refunds
from billing.errors import LicenceHeld
from billing.models import Payment, Subscription
from billing.providers.stripe import orders
from billing.reports.months import months
from billing.reports.sales import sales
from billing.vocabulary import Period, Provider, SubscriptionStatus
from tests.agents.conftest import MakeAgent, settle, signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock
from tests.billing.late_charges import (
    BY,
    HOUR,
    OTHER,
    RENEWAL,
    card_ends,
    charge_beside_a_card,
    income,
    sell_with_failed_renewal,
)
from tests.billing.licences import KEY, LEMON, activate, check
from tests.billing.providers.stripe.shop import work
from tests.doubles.gumroad_server import DISABLED, GumroadSale, GumroadServer
from tests.doubles.lemonsqueezy_server import API_KEY, LemonSqueezyServer
from tests.doubles.stripe_server import StripeDouble

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

END = NOON.replace(month=12)


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def sold(agent: Agent, gumroad: GumroadServer, clock: Clock) -> GumroadSale:
    """A key for tiny whose first renewal failed."""
    return sell_with_failed_renewal(agent, gumroad, clock)


@pytest.fixture
def waiting(sold: GumroadSale, agent: Agent, stripe: StripeDouble, clock: Clock) -> Payment:
    """The late charge of that renewal, while a card already pays for small."""
    return charge_beside_a_card(sold, agent, stripe, clock)


def at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def bought(agent: Agent, gumroad: GumroadServer, clock: Clock, *, recurrence: str = "monthly") -> GumroadSale:
    found = gumroad.sell(KEY, sold_at=at(clock.now), recurrence=recurrence)
    activate(agent, clock)
    return found


def days(clock: Clock, number: int) -> None:
    for _ in range(number):
        check(clock, DAY + HOUR)


def test_what_an_operator_sent_back_is_not_charged_again_by_later_looks(
    waiting: Payment, agent: Agent, clock: Clock
) -> None:
    decisions.send_back(waiting, now=clock.now, **BY)
    days(clock, 3)
    assert (income(), Payment.objects.open().exists()) == (500, False)


def test_what_was_refunded_by_hand_is_not_charged_again_beside_a_card_or_once_the_agent_is_deleted(
    agent: Agent, gumroad: GumroadServer, stripe: StripeDouble, clock: Clock
) -> None:
    clock.at(FREE_UNTIL + DAY)
    bought(agent, gumroad, clock)
    clock.go(DAY)
    corrections.refund(agent, now=clock.now, **BY)
    stripe.world.pay(orders.order(agent, tier="small", period=Period.MONTHLY, now=clock.now).session_id)
    work()
    days(clock, 2)
    assert income() == 0
    lifecycle.delete(agent, actor="user:x")
    days(clock, 2)
    assert income() == 0
    days(clock, 26)
    assert income() == 500, "the next period is a charge of its own"


@pytest.mark.parametrize("later", [HOUR, 4 * DAY, -3 * DAY])
@pytest.mark.parametrize("deleted", [False, True])
def test_another_day_of_the_same_end_is_no_charge(
    agent: Agent, gumroad: GumroadServer, clock: Clock, later: timedelta, deleted: bool
) -> None:
    """Gumroad counts the end of a cancelled membership from its last charge, which may have been late."""
    found = bought(agent, gumroad, clock)
    clock.go(3 * DAY)
    found.purchase = {"subscription_cancelled_at": at(END + later)}
    if deleted:
        lifecycle.delete(agent, actor="user:x")
    days(clock, 2)
    assert (income(), Payment.objects.open().exists()) == (500, False)
    if not deleted:
        row = Subscription.objects.get()
        assert (row.status, row.current_period_end) == (SubscriptionStatus.CANCELED, max(END, END + later))


def test_a_plan_that_its_provider_changed_is_charged_neither_when_the_key_works_again_nor_after_the_agent(
    agent: Agent, gumroad: GumroadServer, clock: Clock
) -> None:
    found = bought(agent, gumroad, clock, recurrence="yearly")
    clock.go(3 * DAY)
    found.recurrence = "monthly"
    for gone in ("", DISABLED, ""):
        found.gone = gone
        days(clock, 1)
    assert (income(), Subscription.objects.get().status) == (500, SubscriptionStatus.ACTIVE)
    lifecycle.delete(agent, actor="user:x")
    days(clock, 2)
    assert income() == 500


def test_a_dispute_that_is_won_when_the_card_ends_pays_at_once(
    waiting: Payment, sold: GumroadSale, agent: Agent, clock: Clock
) -> None:
    sold.purchase = RENEWAL | {"refunded": True}
    days(clock, 1)
    answer = signed_in(agent.user).post(f"/subscriptions/{Subscription.objects.paid().get().pk}/cancel")
    assert answer.status_code == 200, answer.content
    work()
    sold.purchase = RENEWAL | {"disputed": True, "dispute_won": True}
    days(clock, 1)
    assert (income(), Subscription.objects.paid().get().provider) == (1000, "gumroad")


def test_a_licence_that_waits_is_asked_about_long_after_it_ended(
    waiting: Payment, sold: GumroadSale, clock: Clock
) -> None:
    for _ in range(4):
        check(clock, 30 * DAY)
    sold.purchase = {"subscription_failed_at": at(clock.now)}
    days(clock, 1)
    sold.purchase, was = {}, income()
    check(clock, 30 * DAY)
    assert income() == was + 500


def test_a_year_that_was_refunded_by_hand_is_asked_about_until_the_next(
    agent: Agent, gumroad: GumroadServer, clock: Clock
) -> None:
    bought(agent, gumroad, clock, recurrence="yearly")
    clock.go(8 * DAY)
    corrections.refund(agent, now=clock.now, **BY)
    for _ in range(12):
        check(clock, 31 * DAY)
    assert (income(), Subscription.objects.paid().get().provider) == (500, "gumroad")


def test_a_key_that_another_agent_could_not_take_is_still_asked_about(
    agent: Agent, gumroad: GumroadServer, clock: Clock, make_agent: MakeAgent
) -> None:
    other = settle(make_agent(agent.user))
    gumroad.sell(OTHER, sold_at=at(clock.now))
    activate(other, clock, OTHER)
    bought(agent, gumroad, clock)
    lifecycle.delete(agent, actor="user:x")
    with pytest.raises(LicenceHeld):
        activate(other, clock)
    check(clock, 31 * DAY)
    assert income() == 2000, "each of them twice"


def test_what_costs_nothing_waits_for_nobody(agent: Agent, gumroad: GumroadServer, clock: Clock) -> None:
    found = bought(agent, gumroad, clock)
    found.purchase = {"price": 0}
    lifecycle.delete(agent, actor="user:x")
    for _ in range(2):
        check(clock, 31 * DAY)
    assert not Payment.objects.open().exists()


def test_a_charge_that_pays_after_all_can_go_back_in_part_and_is_reported_as_one_that_bought_something(
    waiting: Payment, agent: Agent, clock: Clock
) -> None:
    assert Letter.objects.filter(user=agent.user, text__contains="something else pays for the agent").count() == 1
    card_ends(agent, clock)
    waiting = Payment.objects.get(pk=waiting.pk)
    part_refunds.refund_part(waiting, amount=100, now=clock.now, **BY)
    assert income() == 900
    told = [one.sums for one in sales(months("2027-01", "2027-01")) if one.group.provider == "gumroad"]
    assert sum(one.unapplied for one in told) == 0


@pytest.mark.parametrize("deleted", [False, True])
def test_what_was_refunded_in_part_by_its_provider_and_else_by_hand_is_not_charged_again(
    agent: Agent, lemon: LemonSqueezyServer, stripe: StripeDouble, clock: Clock, settings: Any, deleted: bool
) -> None:
    settings.LEMONSQUEEZY_API_KEY = API_KEY
    licence = lemon.sell(LEMON)
    licence.charge("2026-11-21T12:00:00.000000Z", 900)
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    licence.charges[0].give_back(300)
    days(clock, 1)
    corrections.refund(agent, now=clock.now, **BY)
    if deleted:
        lifecycle.delete(agent, actor="user:x")
    else:
        stripe.world.pay(orders.order(agent, tier="small", period=Period.MONTHLY, now=clock.now).session_id)
        work()
    days(clock, 3)
    rows = Payment.objects.filter(provider="lemonsqueezy").order_by("at", "amount")
    assert [(row.kind, int(row.amount or 0)) for row in rows] == [("payment", 900), ("refund", 300), ("refund", 600)]
