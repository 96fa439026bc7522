"""A licence is charged while something else pays for its agent: one row in the ledger, and an operator decides."""

from __future__ import annotations

from functools import partial

import pytest

from agents.models import Agent
from agents.running import lifecycle
from billing import decisions, invariants
from billing.decisions import NothingToDecide
from billing.models import Decision, Payment, Subscription
from billing.reports.months import months
from billing.reports.open_items import open_items
from billing.reports.sales import sales
from tests.agents.conftest import MakeAgent, settle
from tests.billing.conftest import DAY, Clock, tick
from tests.billing.late_charges import (
    BY,
    HOUR,
    OTHER,
    RENEWAL,
    card_ends,
    charge_beside_a_card,
    gumroads,
    income,
    sell_with_failed_renewal,
)
from tests.billing.licences import KEY, activate, check
from tests.doubles.gumroad_server import GumroadSale, GumroadServer
from tests.doubles.stripe_server import StripeDouble

pytestmark = pytest.mark.django_db


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


def test_the_ledger_has_each_charge_once_and_it_buys_nothing(waiting: Payment, agent: Agent, clock: Clock) -> None:
    assert (waiting.kind, int(waiting.amount or 0), waiting.currency) == ("renewal", 500, "usd")
    assert "a card of another plan" in waiting.unapplied
    agent.refresh_from_db()
    assert (agent.tier, Subscription.objects.paid().get().provider) == ("small", "stripe")
    tick(agent, clock)
    assert invariants.broken(now=clock.now) == []
    for _ in range(5):
        check(clock, DAY + HOUR)
    assert (len(gumroads()), income()) == (2, 1000)
    check(clock, 26 * DAY)
    assert (len(gumroads()), income()) == (3, 1500)
    assert [item.name for item in open_items()] == [row.external_id for row in gumroads()[1:]]


def test_when_the_card_ends_the_licence_pays_and_the_charge_waits_no_more(
    waiting: Payment, agent: Agent, clock: Clock
) -> None:
    card_ends(agent, clock)
    assert (Subscription.objects.paid().get().provider, income()) == ("gumroad", 1000)
    assert not Payment.objects.open().exists()
    decision = Decision.objects.get()
    assert (decision.payment, decision.credit.kind if decision.credit else "") == (waiting, "restored")


def test_days_that_an_operator_gave_for_it_are_not_bought_again(waiting: Payment, agent: Agent, clock: Clock) -> None:
    decisions.credit(waiting, days=30, now=clock.now, **BY)
    card_ends(agent, clock)
    assert (Subscription.objects.paid().get().provider, income()) == ("stripe", 1000)
    check(clock, 31 * DAY)
    assert (Subscription.objects.paid().get().provider, income()) == ("gumroad", 1500)


def test_an_operator_sends_it_back_and_it_is_no_income(waiting: Payment, agent: Agent, clock: Clock) -> None:
    decisions.send_back(waiting, now=clock.now, **BY)
    card_ends(agent, clock)
    assert (Subscription.objects.paid().get().provider, income()) == ("stripe", 500)


def test_what_its_provider_refunded_waits_for_nobody(
    waiting: Payment, sold: GumroadSale, agent: Agent, clock: Clock
) -> None:
    sold.purchase = RENEWAL | {"refunded": True}
    for _ in range(2):
        check(clock, DAY + HOUR)
        assert (income(), Payment.objects.open().exists()) == (500, False)
    sold.purchase = RENEWAL | {"disputed": True, "dispute_won": True}
    check(clock, DAY + HOUR)
    assert (income(), Payment.objects.open().count()) == (1000, 1)
    card_ends(agent, clock)
    assert (Subscription.objects.paid().get().provider, income()) == ("gumroad", 1000)


def test_what_its_provider_refunded_is_not_decided_any_more_though_an_operator_had_the_page_open(
    waiting: Payment, sold: GumroadSale, clock: Clock
) -> None:
    sold.purchase = RENEWAL | {"refunded": True}
    check(clock, DAY + HOUR)
    for decide in (decisions.send_back, decisions.close, partial(decisions.credit, days=5)):
        with pytest.raises(NothingToDecide):
            decide(waiting, now=clock.now, reason="asked", actor="operator:x")
    assert (income(), Payment.objects.filter(kind="credit").exists()) == (500, False)


def test_a_licence_in_whose_place_there_is_another_is_charged_too(
    sold: GumroadSale, agent: Agent, gumroad: GumroadServer, clock: Clock
) -> None:
    gumroad.sell(OTHER, sold_at=f"{clock.now:%Y-%m-%dT%H:%M:%SZ}")
    activate(agent, clock, OTHER)
    sold.purchase = {}
    for days in (1, 30, 31):
        check(clock, days * DAY + HOUR)
    first = [row for row in gumroads() if row.external_id.startswith("membership-1:")]
    assert [(int(row.amount or 0), bool(row.unapplied)) for row in first] == [
        (500, False),
        (500, True),
        (500, True),
        (500, True),
    ]


def test_a_deleted_agents_licence_that_goes_on_being_charged_is_in_the_ledger_and_pays_elsewhere_once(
    agent: Agent, gumroad: GumroadServer, clock: Clock, make_agent: MakeAgent
) -> None:
    other = settle(make_agent(agent.user))
    gumroad.sell(KEY, sold_at=f"{clock.now:%Y-%m-%dT%H:%M:%SZ}")
    activate(agent, clock)
    lifecycle.delete(agent, actor="user:x")
    check(clock, DAY)
    assert income() == 500
    check(clock, 31 * DAY)
    charged = Payment.objects.open().get()
    assert (income(), charged.agent, charged.unapplied) == (1000, agent, "the agent is deleted")
    activate(other, clock)
    assert (income(), Payment.objects.open().exists()) == (1000, False)
    assert Subscription.objects.paid().get().agent == other


@pytest.mark.parametrize("gone", ["deleted", "live"])
def test_euros_that_went_back_are_received_and_returned_at_the_price_that_they_paid(
    agent: Agent, gumroad: GumroadServer, clock: Clock, gone: str
) -> None:
    """The number of euros is unknown here, so the ledger has these rows without an amount."""
    found = gumroad.sell(KEY, sold_at=f"{clock.now:%Y-%m-%dT%H:%M:%SZ}")
    found.purchase = {"currency": "eur", "price": 450}
    activate(agent, clock)
    if gone == "deleted":
        lifecycle.delete(agent, actor="user:x")
        check(clock, DAY)
        check(clock, 31 * DAY)
        assert Payment.objects.open().count() == 1
        found.purchase |= {"sale_timestamp": "2026-12-21T12:00:00Z"}
    found.purchase |= {"refunded": True}
    for _ in range(2):
        check(clock, DAY + HOUR)
    assert not Payment.objects.open().exists()
    sums = [one.sums for one in sales(months("2026-11", "2027-01"))]
    assert sum(one.returned_usd for one in sums) == 5
