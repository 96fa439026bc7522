"""A provider changes a licence, and the ledger records the charges and refunds."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agents.models import Agent
from billing import agent_terms
from billing.vocabulary import PaymentKind, Period, SubscriptionStatus
from tests.billing.conftest import DAY, NOON, Clock, Pay
from tests.billing.licences import KEY, SMALL, activate, check, confirmed, kinds, licence_of
from tests.doubles.gumroad_server import GumroadSale, GumroadServer

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

END = NOON.replace(month=12)  # the end of the first month


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def test_an_upgrade_at_the_provider_changes_the_plan_and_nothing_else(
    agent: Agent, clock: Clock, gumroad: GumroadServer
) -> None:
    sale = gumroad.sell(KEY, SMALL, purchase={"variants": "(Small)"})
    activate(agent, clock)
    first = licence_of(agent)
    sale.purchase = {"variants": "(Medium)", "sale_id": "sale-2", "price": 2000}
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.pk, row.tier, row.current_period_end) == (first.pk, "medium", END)
    assert row.tier_snapshot is not None
    assert row.tier_snapshot["id"] == "medium"
    agent.refresh_from_db()
    assert agent.tier == "medium"
    for variant in ("(Small)", "(Medium)"):
        sale.purchase = {"variants": variant}
        check(clock, DAY)
    assert licence_of(agent).tier == "medium"
    assert kinds(agent) == ["payment", "new plan", "new plan", "new plan"]
    charged = agent.payments.exclude(amount=None).values_list("kind", flat=True)
    assert (list(charged), len(confirmed(agent))) == (["payment"], 1), "no charge that nobody told of"


def test_who_changes_from_yearly_to_monthly_is_paid_for_the_month(
    agent: Agent, clock: Clock, gumroad: GumroadServer
) -> None:
    sale = gumroad.sell(KEY, recurrence="yearly")
    activate(agent, clock)
    assert licence_of(agent).current_period_end == NOON.replace(year=2027)
    sale.recurrence = "monthly"
    check(clock, DAY)
    row = licence_of(agent)
    assert (row.period, row.current_period_end) == (Period.MONTHLY, END)
    assert kinds(agent) == ["payment", "new plan"]
    check(clock, at=END)
    assert licence_of(agent).current_period_end == NOON.replace(year=2027, month=1)
    assert kinds(agent) == ["payment", "new plan", "renewal"]


def test_what_was_bought_beside_it_keeps_its_value_when_the_plan_changes(
    agent: Agent, clock: Clock, gumroad: GumroadServer, pay: Pay
) -> None:
    """Five dollars beside a plan for $9, and then beside a plan for $19."""
    sale = gumroad.sell(KEY, SMALL, purchase={"variants": "(Small)"})
    activate(agent, clock)
    pay(agent, price_usd=Decimal(5))
    for variant, usd in (("(Medium)", 19), ("(Small)", 9)):
        sale.purchase = {"variants": variant}
        check(clock, DAY)
        beside = licence_of(agent).current_period_end - END
        monthly = (licence_of(agent).tier_snapshot or {})["monthlyUsd"]
        assert monthly == usd
        assert beside.total_seconds() == 5 * 365 * 86_400 // (usd * 12)


@pytest.mark.parametrize(
    ("purchase", "went_back"), [({"refunded": True}, True), ({"disputed": True}, True), ({"chargebacked": True}, True)]
)
def test_the_ledger_says_how_much_went_back_at_the_provider(
    agent: Agent, sale: GumroadSale, clock: Clock, purchase: dict[str, bool], went_back: bool
) -> None:
    sale.purchase = purchase
    check(clock, DAY)
    paid, back = agent.payments.get(kind=PaymentKind.PAYMENT), agent.payments.get(kind=PaymentKind.REVOKE)
    assert (back.amount, back.currency) == (paid.amount, "usd")
    assert licence_of(agent).status == SubscriptionStatus.EXPIRED


def test_what_merely_ends_takes_no_money_back(agent: Agent, sale: GumroadSale, clock: Clock) -> None:
    sale.purchase = {"subscription_ended_at": "2026-11-21T13:00:00Z"}
    check(clock, DAY)
    assert agent.payments.get(kind=PaymentKind.REVOKE).amount is None
    assert not agent_terms.term(agent, now=clock.now).paid_till
