"""A chosen smaller plan, and everything that may happen between the choice and the charge."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from agents.models import Agent
from billing import corrections, invariants
from billing.models import CardSubscription, Payment, Subscription
from billing.providers.stripe import orders
from billing.vocabulary import Period, Provider
from tests.agents.conftest import signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay, licence, tick
from tests.billing.providers.stripe.shop import work
from tests.doubles.stripe_server import StripeDouble, StripeFault

pytestmark = [pytest.mark.sampled, pytest.mark.unmeasured, pytest.mark.django_db]

HOUR = timedelta(hours=1)
UPDATE = "POST /v1/subscriptions"


def buy_by_card(
    agent: Agent, stripe: StripeDouble, clock: Clock, tier: str, period: Period = Period.MONTHLY
) -> CardSubscription:
    order = orders.order(agent, tier=tier, period=period, now=clock.now)
    stripe.world.pay(order.session_id)
    work()
    tick(agent, clock)
    return CardSubscription.objects.get(order_id=order.pk)


def row() -> Subscription:
    return Subscription.objects.paid().get()


def at() -> str:
    return f"/subscriptions/{row().pk}/next-plan"


def choose(agent: Agent, tier: str = "tiny") -> Any:
    answer = signed_in(agent.user).put(at(), {"tier": tier}, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()["nextPlan"]


def keep(agent: Agent) -> None:
    assert signed_in(agent.user).delete(at()).status_code == 204


def price(stripe: StripeDouble) -> int:
    return int(stripe.world.all("subscription")[-1]["items"]["data"][0]["price"]["unit_amount"])


def ledger() -> list[tuple[str, str, str, str]]:
    """The money received: kind, plan, dollars, and why it bought nothing."""
    rows = Payment.objects.filter(provider=Provider.STRIPE).order_by("at", "id")
    return [(one.kind, one.tier or "", f"{(one.amount or 0) / 100:.2f}", one.unapplied) for one in rows]


@pytest.fixture
def small(clock: Clock, agent: Agent, stripe: StripeDouble) -> CardSubscription:
    clock.at(FREE_UNTIL + DAY)
    return buy_by_card(agent, stripe, clock, "small")


@pytest.fixture
def medium(clock: Clock, agent: Agent, stripe: StripeDouble) -> CardSubscription:
    clock.at(FREE_UNTIL + DAY)
    return buy_by_card(agent, stripe, clock, "medium")


def test_a_charge_of_the_plan_that_was_chosen_before_the_last_choice_buys_that_plan(
    medium: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent, "small")
    work()
    clock.at(row().current_period_end)
    invoice = stripe.world.period_ends(medium.subscription_id)  # for an hour this is a draft of $9
    choose(agent, "tiny")
    work()
    clock.go(HOUR)
    stripe.world.settle(invoice["id"])
    work()
    assert ledger()[1:] == [("renewal", "small", "9.00", "")]


def test_a_year_that_is_bought_by_card_does_not_cost_the_price_of_the_month_that_was_chosen(
    clock: Clock, agent: Agent, stripe: StripeDouble, pay: Pay
) -> None:
    clock.at(FREE_UNTIL + DAY)
    pay(agent, tier="small", price_usd=Decimal(9))
    tick(agent, clock)
    choose(agent)
    buy_by_card(agent, stripe, clock, "small", Period.ANNUAL)
    work()
    interval = stripe.world.all("subscription")[-1]["items"]["data"][0]["price"]["recurring"]["interval"]
    assert (interval, price(stripe)) in {("year", 5000), ("year", 9000)}


def test_a_card_that_is_charged_monthly_is_told_the_price_of_a_month_though_a_year_was_bought_beside_it(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock, pay: Pay
) -> None:
    pay(agent, "coins", tier="small", period=Period.ANNUAL, price_usd=Decimal(90))
    tick(agent, clock)
    choose(agent)
    work()
    assert price(stripe) == 500


def test_a_key_of_the_same_plan_leaves_no_price_at_stripe_that_buys_nothing(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock, pay: Pay
) -> None:
    choose(agent)
    work()
    pay(agent, "key", provider=Provider.GUMROAD, tier="small", licence=licence(clock.now + 40 * DAY))
    work()
    clock.at(FREE_UNTIL + 31 * DAY)
    stripe.world.renew(small.subscription_id)
    work()
    assert [unapplied for _, _, _, unapplied in ledger()] == ["", ""]


def test_a_card_that_failed_and_pays_after_coins_did_buys_what_it_was_charged_for(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock, pay: Pay
) -> None:
    choose(agent)
    work()
    clock.at(row().current_period_end + HOUR)
    invoice = stripe.world.fail(small.subscription_id)
    work()
    tick(agent, clock)
    pay(agent, "coins", tier="small", price_usd=Decimal(9))
    tick(agent, clock)
    clock.go(DAY)
    stripe.world.settle(invoice["id"])
    work()
    assert [unapplied for _, _, _, unapplied in ledger()] == ["", ""]


def test_who_keeps_the_plan_while_the_failed_charge_is_paid_is_charged_as_before(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    work()
    corrections.credit(agent, days=20, reason="sorry", actor="operator", now=clock.now)
    clock.at(FREE_UNTIL + 31 * DAY + HOUR)
    invoice = stripe.world.fail(small.subscription_id)
    work()
    keep(agent)
    stripe.fail_next(UPDATE, StripeFault(status=500))
    stripe.world.settle(invoice["id"])
    work()
    clock.go(2 * HOUR)
    work()
    clock.at(FREE_UNTIL + 62 * DAY + HOUR)
    stripe.world.renew(small.subscription_id)
    work()
    assert [unapplied for _, _, _, unapplied in ledger()] == ["", "", ""]


def test_an_older_invoice_that_is_paid_after_the_smaller_plan_began_buys_the_plan_that_it_was_of(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    corrections.credit(agent, days=60, reason="sorry", actor="operator", now=clock.now)
    clock.at(FREE_UNTIL + 31 * DAY + HOUR)
    old = stripe.world.fail(small.subscription_id)  # an invoice of $9
    work()
    choose(agent)
    work()
    clock.at(FREE_UNTIL + 62 * DAY + HOUR)
    new = stripe.world.period_ends(small.subscription_id)
    stripe.world.settle(new["id"])
    work()
    stripe.world.settle(old["id"])
    work()
    assert [unapplied for _, _, _, unapplied in ledger()] == ["", "", ""]


def test_a_charge_before_its_owner_canceled_buys_the_chosen_plan_however_late_it_is_told_of(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    work()
    clock.at(row().current_period_end)
    invoice = stripe.world.period_ends(small.subscription_id)
    stripe.world.settle(invoice["id"])  # no worker has seen this yet
    clock.go(timedelta(minutes=1))
    assert signed_in(agent.user).post(f"/subscriptions/{row().pk}/cancel").status_code == 200
    keep(agent)
    work()
    assert ledger()[1:] == [("renewal", "tiny", "5.00", "")]


def test_nothing_changes_before_the_time_that_the_owner_was_told(
    agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    """As usual, the owner entered the card on the first day, so it is charged a week before the paid time ends."""
    card = buy_by_card(agent, stripe, clock, "small")
    told = datetime.fromisoformat(choose(agent)["startsAt"])
    work()
    clock.at(clock.now + 30 * DAY)
    stripe.world.renew(card.subscription_id)
    work()
    agent = tick(agent, clock)
    assert agent.tier == ("small" if clock.now < told else "tiny")


def test_what_was_chosen_on_a_plan_that_goes_back_is_not_larger_than_what_is_left(
    clock: Clock, agent: Agent, stripe: StripeDouble, pay: Pay
) -> None:
    clock.at(FREE_UNTIL + DAY)
    pay(agent, "year", period=Period.ANNUAL, price_usd=Decimal(50))
    bought = pay(agent, "medium", tier="medium", price_usd=Decimal(19))
    tick(agent, clock)
    choose(agent, "small")
    corrections.refund_payment(bought, reason="wrong", actor="operator", now=clock.now)
    assert row().tier == "tiny"
    told = signed_in(agent.user).get(at()).json()["nextPlan"]
    assert told is None
    clock.at(row().current_period_end + HOUR)
    assert tick(agent, clock).tier == "tiny"


def test_all_of_it_contradicts_nothing(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    for tier in ("tiny", "tiny"):
        choose(agent, tier)
        keep(agent)
    work()
    assert invariants.broken(now=clock.now) == []
