"""Gumroad reports only refunds and disputes of a membership's first payment, and keeps reporting them for ever."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pytest

from agents.models import Agent
from billing import agent_terms
from billing.models import Payment, Subscription
from billing.reports.months import months
from billing.reports.sales import sales
from tests.billing.conftest import DAY, NOON, Clock
from tests.billing.licences import KEY, activate, check
from tests.doubles.gumroad_server import GumroadSale, GumroadServer

pytestmark = pytest.mark.django_db

SECOND, THIRD = NOON.replace(month=12), NOON.replace(year=2027, month=1)
REFUNDED, DISPUTED = {"refunded": True}, {"disputed": True}


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def renewed(sale: GumroadSale, clock: Clock) -> GumroadSale:
    """A month of $5, and ten days of the second month."""
    check(clock, at=SECOND + DAY)
    check(clock, at=SECOND + 10 * DAY)
    return sale


def told(clock: Clock, sale: GumroadSale, purchase: Mapping[str, object]) -> None:
    """Verify twice, because repeating the same report must change nothing."""
    sale.purchase = dict(purchase)
    for _ in range(2):
        check(clock, DAY)


def paid_till(agent: Agent, clock: Clock) -> datetime | None:
    return agent_terms.term(Agent.objects.get(pk=agent.pk), now=clock.now).paid_till


def ledger() -> list[tuple[str, int | None]]:
    rows = Payment.objects.order_by("at", "external_id").values_list("kind", "amount")
    return [(kind, None if amount is None else int(amount)) for kind, amount in rows]


def test_a_first_payment_that_goes_back_months_later_takes_no_time_of_a_renewal(
    renewed: GumroadSale, agent: Agent, clock: Clock
) -> None:
    first = Payment.objects.get(kind="payment")
    told(clock, renewed, REFUNDED)
    assert paid_till(agent, clock) == THIRD
    assert ledger() == [("payment", 500), ("renewal", 500), ("refund", 500)]
    assert Payment.objects.get(kind="refund").refund_of == first
    check(clock, at=THIRD + DAY)
    assert (paid_till(agent, clock), ledger()[3:]) == (THIRD.replace(month=2), [("renewal", 500)])


@pytest.mark.sampled
def test_a_first_payment_that_goes_back_in_its_own_month_ends_it_and_the_next_charge_pays(
    sale: GumroadSale, agent: Agent, clock: Clock
) -> None:
    told(clock, sale, REFUNDED)
    assert (paid_till(agent, clock), ledger()) == (None, [("payment", 500), ("revoke", 500)])
    for day in range(31):
        check(clock, at=NOON + day * DAY + 3 * DAY)
    assert (paid_till(agent, clock), ledger()[2:]) == (THIRD, [("renewal", 500)])


def test_a_refund_that_nobody_saw_in_its_own_month_is_of_the_first_payment_all_the_same(
    sale: GumroadSale, agent: Agent, clock: Clock
) -> None:
    clock.at(SECOND + DAY)
    told(clock, sale, REFUNDED)
    assert paid_till(agent, clock) == THIRD
    assert sorted(ledger()) == [("payment", 500), ("refund", 500), ("renewal", 500)]


def test_a_dispute_of_a_first_payment_that_is_won_brings_its_money_again(
    renewed: GumroadSale, agent: Agent, clock: Clock
) -> None:
    for number in range(2):
        told(clock, renewed, DISPUTED)
        assert ledger()[2 + 2 * number :] == [("refund", 500)]
        told(clock, renewed, DISPUTED | {"dispute_won": True})
        assert ledger()[3 + 2 * number :] == [("came back", 500)]
    assert paid_till(agent, clock) == THIRD
    assert sum(one.sums.kept_usd for one in sales(months("2026-11", "2027-01"))) == 10


def test_of_another_currency_the_ledger_says_that_it_went_back_without_an_amount(
    agent: Agent, gumroad: GumroadServer, clock: Clock
) -> None:
    euros: dict[str, object] = {"currency": "eur", "price": 450}
    sold = gumroad.sell(KEY, purchase=euros)
    activate(agent, clock)
    check(clock, at=SECOND + DAY)
    told(clock, sold, euros | REFUNDED)
    assert ledger() == [("payment", None), ("renewal", None), ("refund", None)]
    assert Payment.objects.get(kind="refund").refund_of == Payment.objects.get(kind="payment")
    assert paid_till(agent, clock) == THIRD


def test_what_ended_the_membership_is_told_beside_it(renewed: GumroadSale, agent: Agent, clock: Clock) -> None:
    """A bank takes the first payment back, and the membership ends at once. No money of the running month went back."""
    told(clock, renewed, DISPUTED | {"subscription_cancelled_at": f"{clock.now:%Y-%m-%dT%H:%M:%SZ}"})
    assert paid_till(agent, clock) is None
    assert sorted(ledger()[2:], key=str) == [("refund", 500), ("revoke", None)]
    assert Payment.objects.get(kind="refund").refund_of == Payment.objects.get(kind="payment")


def test_a_key_whose_first_payment_went_back_pays_for_who_enters_it_later(
    agent: Agent, gumroad: GumroadServer, clock: Clock
) -> None:
    gumroad.sell(KEY, purchase=REFUNDED)
    clock.at(SECOND + DAY)
    activate(agent, clock)
    for _ in range(2):
        check(clock, DAY)
    assert (paid_till(agent, clock), ledger()) == (THIRD, [("payment", 500)])
    assert Subscription.objects.paid().get().agent == agent
