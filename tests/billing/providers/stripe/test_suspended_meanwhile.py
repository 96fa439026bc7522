"""Cards, banks and Stripe continue while an account is suspended; the time of its agents stands still."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from agents import suspension
from agents.models import Agent
from billing import agent_terms, invariants, next_plans
from billing.models import CardSubscription, DeferredRevenue, Payment, Span
from billing.providers.stripe import feed
from billing.reports import deferred
from billing.term import Term
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, tick
from tests.billing.providers.stripe.conftest import invoices
from tests.billing.providers.stripe.shop import PlaceOrder, work
from tests.doubles.stripe_server import StripeDouble

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

HOUR = timedelta(hours=1)


def suspend(agent: Agent) -> None:
    suspension.suspend(agent.user, reason="spam", actor="operator:x")


def restore(agent: Agent) -> None:
    suspension.restore(agent.user, actor="operator:x")


def look(agent: Agent, clock: Clock) -> None:
    """Run the workers for the agent and its card."""
    tick(agent, clock)
    feed.check_due(now=clock.now)
    work()


def term(agent: Agent, clock: Clock) -> Term:
    return agent_terms.term(Agent.objects.get(pk=agent.pk), now=clock.now)


def test_a_dispute_that_is_won_while_its_account_is_suspended_gives_back_what_was_left_when_it_began(
    card: CardSubscription, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    """20 of 30 days were left. They stand still from the dispute until the operator lifts the suspension."""
    charge = stripe.world.charge_of(invoices(stripe)[0]["id"])
    clock.at(FREE_UNTIL + 10 * DAY)
    made = stripe.world.dispute(charge["id"])
    work()
    assert term(agent, clock).mode == "grace"
    clock.go(DAY)
    suspend(agent)
    clock.go(10 * DAY)
    stripe.world.decide(made["id"], "won")
    work()
    clock.go(10 * DAY)
    restore(agent)
    look(agent, clock)
    assert (term(agent, clock).mode, term(agent, clock).paid_till) == ("paid", clock.now + 20 * DAY)
    assert round(Span.objects.get(subscription__status="active").usd, 2) == Decimal("3.33"), "of $5.00"
    assert Payment.objects.get(kind="payment").gone_back == 0
    assert invariants.broken(now=clock.now) == []
    clock.at(datetime(2027, 1, 1, 0, 1, tzinfo=UTC))
    deferred.close_months(now=clock.now)
    assert [row.usd for row in DeferredRevenue.objects.all()] == [Decimal("2.92")], "17.5 of 30 days of $5.00"


@pytest.mark.parametrize("word", ["won", "lost"])
def test_a_dispute_of_what_stands_still_takes_what_is_left_and_gives_it_back_or_not(
    card: CardSubscription, stripe: StripeDouble, agent: Agent, clock: Clock, word: str
) -> None:
    charge = stripe.world.charge_of(invoices(stripe)[0]["id"])
    clock.at(FREE_UNTIL + 10 * DAY)
    suspend(agent)
    clock.go(4 * DAY)
    made = stripe.world.dispute(charge["id"])
    work()
    assert term(agent, clock).mode == "grace"
    clock.go(3 * DAY)
    stripe.world.decide(made["id"], word)
    work()
    clock.go(3 * DAY)
    restore(agent)
    look(agent, clock)
    if word == "won":
        assert (term(agent, clock).mode, term(agent, clock).paid_till) == ("paid", clock.now + 20 * DAY)
    else:
        assert (term(agent, clock).mode, term(agent, clock).stops_at) == ("grace", clock.now + 3 * DAY)
        assert Payment.objects.get(kind="payment").gone_back == 500
    assert invariants.broken(now=clock.now) == []


def test_a_card_that_renews_while_its_account_is_suspended_buys_a_month_that_stands_still(
    card: CardSubscription, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    """7 days of the first month are left. After the standstill they end on the 28th."""
    clock.at(FREE_UNTIL + 23 * DAY)
    suspend(agent)
    stripe.world.renew(card.subscription_id)
    work()
    clock.go(10 * DAY)
    restore(agent)
    look(agent, clock)
    assert term(agent, clock).paid_till == clock.now + (7 + 31) * DAY
    assert invariants.broken(now=clock.now) == []


def test_a_smaller_plan_that_is_charged_while_its_account_is_suspended_takes_the_rest_over_at_its_value(
    place: PlaceOrder, stripe: StripeDouble, agent: Agent, clock: Clock
) -> None:
    """10 of 30 days of small are left, worth $3.00: at $60 for 365 days these are 18.25 days of tiny."""
    order = place(tier="small")
    stripe.world.pay(order.session_id)
    work()
    clock.at(FREE_UNTIL + 20 * DAY)
    card = CardSubscription.objects.get()
    row = agent.subscriptions.get(status="active")
    next_plans.choose(agent.user, row.pk, tier="tiny", actor="owner", now=clock.now)
    work()
    suspend(agent)
    clock.go(HOUR)
    stripe.world.renew(card.subscription_id)
    work()
    clock.go(10 * DAY)
    restore(agent)
    look(agent, clock)
    found = term(agent, clock)
    month = 31  # from the 18th of December
    assert found.paid_till == clock.now + (month + 18) * DAY + 6 * HOUR
    assert Agent.objects.get(pk=agent.pk).tier == "tiny"
    assert [int(one.amount or 0) for one in Payment.objects.filter(kind__in=["payment", "renewal"])] == [500, 900]
    assert invariants.broken(now=clock.now) == []
