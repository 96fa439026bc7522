"""Each payment owns its time: what is refunded, given or ends takes nothing of another's: docs/reference/billing.md."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client

from accounts.models import User
from agents import suspension
from agents.models import Agent
from billing import agent_terms, corrections, invariants, revocations
from billing.errors import NothingToRefund
from billing.models import Payment, Subscription
from billing.vocabulary import Period, Provider, TermMode
from tests import operating
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock, Pay, licence

pytestmark = pytest.mark.django_db

OPERATOR = "operator:usr_0"
MONTH = 30 * DAY  # from 28 November
NEXT_MONTH = 31 * DAY


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture(autouse=True)
def sound(clock: Clock) -> object:
    """After each test, the books have no violations of the invariants about spans."""
    yield
    assert [found for found in invariants.broken(now=clock.now) if "spans" in found or "no row" in found] == []


def till(agent: Agent, clock: Clock) -> datetime | None:
    return agent_terms.term(agent, now=clock.now).paid_till


def refund(row: Payment, clock: Clock) -> Payment:
    return corrections.refund_payment(row, reason="asked", actor=OPERATOR, now=clock.now)


def test_free_days_come_first(agent: Agent, pay: Pay, clock: Clock) -> None:
    clock.go(2 * DAY)
    pay(agent)
    assert till(agent, clock) == FREE_UNTIL + MONTH
    clock.at(FREE_UNTIL + MONTH - DAY)
    assert agent_terms.term(agent, now=clock.now).mode == TermMode.PAID


def test_who_changes_the_plan_in_the_free_days_keeps_them(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    clock.go(3 * DAY)
    row = pay(agent, "two", tier="small", price_usd=Decimal(10))
    assert row.converted == timedelta(seconds=5 * 365 * 86_400 // 120)
    assert till(agent, clock) == FREE_UNTIL + MONTH + row.converted


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_refund_takes_what_its_payment_bought_and_the_rest_moves_up(
    agent: Agent, pay: Pay, clock: Clock, which: int
) -> None:
    rows = [pay(agent, str(number)) for number in range(3)]
    lengths = [b - a for a, b in zip([FREE_UNTIL, *map(_end, rows)], map(_end, rows), strict=False)]
    clock.go(2 * DAY)
    refund(rows[which], clock)
    assert till(agent, clock) == FREE_UNTIL + sum(lengths, timedelta(0)) - lengths[which]
    with pytest.raises(NothingToRefund):
        refund(rows[which], clock)


def test_only_what_is_left_of_it_goes(agent: Agent, pay: Pay, clock: Clock) -> None:
    first = pay(agent)
    pay(agent, "two")
    clock.at(FREE_UNTIL + 10 * DAY)
    refund(first, clock)
    assert till(agent, clock) == clock.now + NEXT_MONTH


def test_of_a_payment_that_is_used_up_the_money_goes_back_once_and_no_time(
    agent: Agent, pay: Pay, clock: Clock
) -> None:
    first = pay(agent)
    pay(agent, "two")
    clock.at(FREE_UNTIL + MONTH)
    before = till(agent, clock)
    refund(first, clock)
    assert [(row.refund_of, row.kind) for row in Payment.objects.filter(kind="refund")] == [(first, "refund")]
    with pytest.raises(NothingToRefund):
        refund(first, clock)
    assert till(agent, clock) == before


def test_given_days_survive_a_refund(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    corrections.credit(agent, days=5, reason="an outage", actor=OPERATOR, now=clock.now)
    clock.at(FREE_UNTIL + 10 * DAY)
    corrections.refund(agent, reason="asked", actor=OPERATOR, now=clock.now)
    assert till(agent, clock) == clock.now + 5 * DAY
    with pytest.raises(NothingToRefund):
        corrections.refund(agent, reason="asked", actor=OPERATOR, now=clock.now)


def test_what_was_converted_is_refunded_as_what_it_became(agent: Agent, pay: Pay, clock: Clock) -> None:
    first = pay(agent)
    second = pay(agent, "two", tier="small", price_usd=Decimal(10))
    refund(first, clock)
    assert till(agent, clock) == FREE_UNTIL + MONTH
    refund(second, clock)
    assert agent_terms.term(agent, now=clock.now).mode == TermMode.GRACE


def test_a_suspension_takes_nothing_of_anybodys(agent: Agent, pay: Pay, clock: Clock, owner: User) -> None:
    clock.at(FREE_UNTIL)
    first = pay(agent)
    pay(agent, "two")
    clock.go(10 * DAY)
    suspension.suspend(owner, reason="spam", actor=OPERATOR)
    clock.go(40 * DAY)
    suspension.restore(owner, actor=OPERATOR)
    refund(first, clock)
    assert till(agent, clock) == clock.now + NEXT_MONTH


def test_a_licence_survives_a_refund_of_what_was_beside_it(agent: Agent, pay: Pay, clock: Clock) -> None:
    ends = NOON + 30 * DAY
    pay(agent, provider=Provider.GUMROAD, licence=licence(ends))
    coins = pay(agent, "coins")
    assert till(agent, clock) == ends + 30 * DAY
    refund(coins, clock)
    assert (till(agent, clock), Subscription.objects.paid().get().provider) == (ends, "gumroad")


def test_what_is_beside_a_licence_survives_it_and_is_refunded_by_itself(agent: Agent, pay: Pay, clock: Clock) -> None:
    row = pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY))
    coins = pay(agent, "coins")
    clock.at(FREE_UNTIL)
    revocations.revoke(str(row.subscription_id), reason="refunded there", actor="billing", now=clock.now)
    assert till(agent, clock) == FREE_UNTIL + 30 * DAY
    assert Subscription.objects.paid().get().provider == "usdc"
    refund(coins, clock)
    assert agent_terms.term(agent, now=clock.now).mode == TermMode.GRACE


def test_a_refund_of_a_licence_leaves_what_was_beside_it(agent: Agent, pay: Pay, clock: Clock) -> None:
    row = pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY))
    pay(agent, "coins")
    clock.at(FREE_UNTIL)
    refund(row, clock)
    assert till(agent, clock) == FREE_UNTIL + 30 * DAY


def test_given_time_is_worth_what_its_plan_is_sold_for(agent: Agent, pay: Pay, clock: Clock) -> None:
    """73 given days of a plan for $5 a month are $12: 36.5 days of a plan for $10."""
    corrections.credit(agent, days=73, reason="an outage", actor=OPERATOR, now=clock.now)
    snapshot = {"id": "small", "monthlyUsd": 10, "annualUsd": 100}
    row = pay(agent, "two", tier="small", price_usd=Decimal(1), tier_snapshot=snapshot)
    assert row.converted == timedelta(days=36, hours=12)


def test_a_discount_prices_no_other_money(agent: Agent, pay: Pay, clock: Clock) -> None:
    """The rest of five dollars buys time at the new plan's list price, however little was paid for the new plan."""
    pay(agent)
    snapshot = {"id": "small", "monthlyUsd": 10, "annualUsd": 100}
    row = pay(agent, "two", tier="small", price_usd=Decimal(1), tier_snapshot=snapshot)
    assert row.converted == timedelta(seconds=5 * 365 * 86_400 // 120)


def test_the_ledger_says_how_much_went_back(agent: Agent, pay: Pay, clock: Clock) -> None:
    row = pay(agent, period=Period.ANNUAL, price_usd=Decimal(50))
    back = refund(row, clock)
    assert (back.kind, back.provider, back.price_usd, back.period) == ("refund", "usdc", Decimal(50), "annual")
    assert (back.external_id, back.reason, back.actor) == (f"{row.external_id}:refund", "asked", OPERATOR)


def test_an_operator_refunds_one_payment_of_two_in_the_ledger(agent: Agent, pay: Pay, clock: Clock) -> None:
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    first = pay(agent)
    pay(agent, "two")
    page = operating.act(console, "/admin/billing/payment/", "refund", first, reason="asked")
    assert "Refunded: " in page
    assert till(agent, clock) == FREE_UNTIL + NEXT_MONTH
    assert "nothing to refund" in operating.act(console, "/admin/billing/payment/", "refund", first, reason="asked")


def _end(row: Payment) -> datetime:
    assert row.paid_till is not None
    return row.paid_till
