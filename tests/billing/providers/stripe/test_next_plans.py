"""A card pays the smaller plan's price from the next period on, however late Stripe hears of the choice."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from agents.models import Agent
from billing import agent_terms, invariants
from billing.models import CardSubscription, NextPlan, Payment, Subscription
from billing.providers.stripe import orders, repricing
from billing.vocabulary import Period
from tests.agents.conftest import event_types, signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, tick
from tests.billing.providers.stripe.shop import work
from tests.doubles.stripe_server import StripeDouble, StripeFault

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

HOUR = timedelta(hours=1)
UPDATE = "POST /v1/subscriptions"


@pytest.fixture
def small(clock: Clock, agent: Agent, stripe: StripeDouble) -> CardSubscription:
    """A card that pays $9 a month for small since the end of the free days."""
    clock.at(FREE_UNTIL + DAY)
    order = orders.order(agent, tier="small", period=Period.MONTHLY, now=clock.now)
    stripe.world.pay(order.session_id)
    work()
    tick(agent, clock)
    return CardSubscription.objects.get()


def row() -> Subscription:
    return Subscription.objects.paid().get()


def choose(agent: Agent, tier: str = "tiny") -> Any:
    answer = signed_in(agent.user).put(f"/subscriptions/{row().pk}/next-plan", {"tier": tier}, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()["nextPlan"]


def keep(agent: Agent) -> None:
    assert signed_in(agent.user).delete(f"/subscriptions/{row().pk}/next-plan").status_code == 204


def price(stripe: StripeDouble) -> int:
    return int(stripe.world.all("subscription")[-1]["items"]["data"][0]["price"]["unit_amount"])


def period_ends(stripe: StripeDouble, card: CardSubscription, agent: Agent, clock: Clock) -> datetime:
    """End the period, and charge the card an hour later, as Stripe does. Returns the end of the period."""
    end = row().current_period_end
    clock.at(end)
    invoice = stripe.world.period_ends(card.subscription_id)
    work()
    tick(agent, clock)
    clock.go(HOUR)
    stripe.world.settle(invoice["id"])
    work()
    tick(agent, clock)
    return end


def ledger() -> list[tuple[str, str, int]]:
    rows = Payment.objects.order_by("at", "id")
    return [(one.kind, one.tier or "", int(one.amount or 0)) for one in rows]


def test_the_card_pays_less_from_the_next_period_on(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    end = row().current_period_end
    choose(agent)
    work()
    assert (price(stripe), row().tier, row().current_period_end) == (500, "small", end)
    assert stripe.called("POST /v1/subscriptions/*")[0]["proration_behavior"] == "none"
    assert period_ends(stripe, small, agent, clock) == end
    agent.refresh_from_db()
    assert (agent.tier, row().tier, row().current_period_end) == ("tiny", "tiny", end.replace(year=2027, month=1))
    assert ledger() == [("payment", "small", 900), ("renewal", "tiny", 500)]
    assert not NextPlan.objects.exists()
    period_ends(stripe, small, agent, clock)
    assert ledger()[2:] == [("renewal", "tiny", 500)]
    assert not {"deletion.warning", "agent.stopped"} & set(event_types(agent))
    assert invariants.broken(now=clock.now) == []


def test_who_keeps_the_plan_after_all_is_charged_as_before(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    work()
    clock.go(HOUR)
    keep(agent)
    work()
    assert price(stripe) == 900
    period_ends(stripe, small, agent, clock)
    assert ledger()[1:] == [("renewal", "small", 900)]
    assert not NextPlan.objects.exists()


@pytest.mark.parametrize(
    "fault", [StripeFault(status=500), StripeFault(status=429), StripeFault(status=504, done=True)]
)
def test_stripe_is_told_until_it_has_it(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock, fault: StripeFault
) -> None:
    choose(agent)
    stripe.fail_next(UPDATE, fault, fault)
    done = []
    for _ in range(4):
        clock.go(timedelta(minutes=1))
        done.append(repricing.reprice_due(now=clock.now))
    assert sum(done) == 1
    assert price(stripe) == 500


def test_a_renewal_before_stripe_was_told_pays_for_the_old_plan_and_the_next_for_the_new(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    stripe.fail_next(UPDATE, *[StripeFault(status=500)] * 2)
    period_ends(stripe, small, agent, clock)
    assert ledger()[1:] == [("renewal", "small", 900)]
    clock.go(2 * HOUR)
    work()
    period_ends(stripe, small, agent, clock)
    assert ledger()[2:] == [("renewal", "tiny", 500)]


def test_a_charge_of_the_smaller_price_that_was_under_way_when_it_was_kept_buys_the_smaller_plan_once(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    work()
    clock.at(row().current_period_end)
    invoice = stripe.world.period_ends(small.subscription_id)
    keep(agent)
    work()
    stripe.world.settle(invoice["id"])
    work()
    assert ledger()[1:] == [("renewal", "tiny", 500)]
    period_ends(stripe, small, agent, clock)
    assert ledger()[2:] == [("renewal", "small", 900)]


def test_a_late_answer_that_set_the_wrong_price_is_mended_when_stripe_tells_of_it(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    work()
    item = stripe.world.all("subscription")[-1]["items"]["data"][0]
    old = {"currency": "usd", "product": item["price"]["product"], "unit_amount": "900"}
    old |= {"recurring": {"interval": "month"}, "tax_behavior": "inclusive"}
    clock.go(HOUR)
    stripe.world.reprice(small.subscription_id, {"id": item["id"], "price_data": old})
    work()
    assert price(stripe) == 500


def test_a_charge_that_fails_keeps_the_choice_for_the_next_try(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    work()
    clock.at(row().current_period_end + HOUR)
    invoice = stripe.world.fail(small.subscription_id)
    work()
    tick(agent, clock)
    assert agent_terms.term(agent, now=clock.now).mode == "grace"
    clock.go(DAY)
    stripe.world.settle(invoice["id"])
    work()
    assert (ledger()[1:], row().tier) == ([("renewal", "tiny", 500)], "tiny")


def test_a_card_that_is_cancelled_leaves_the_smaller_plan_for_the_end(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    assert signed_in(agent.user).post(f"/subscriptions/{row().pk}/cancel").status_code == 200
    work()
    clock.at(row().current_period_end)
    agent = tick(agent, clock)
    assert (agent.tier, agent_terms.term(agent, now=clock.now).mode) == ("tiny", "grace")


def test_another_plan_by_card_ends_the_choice(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    work()
    order = orders.order(agent, tier="medium", period=Period.MONTHLY, now=clock.now)
    stripe.world.pay(order.session_id)
    work()
    assert (NextPlan.objects.exists(), row().tier, price(stripe)) == (False, "medium", 1900)


def test_after_the_change_the_same_plan_by_card_is_refused_and_the_old_one_may_be_ordered(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    choose(agent)
    work()
    period_ends(stripe, small, agent, clock)
    mine = signed_in(agent.user)
    asked = {"agentId": agent.pk, "period": "monthly"}
    assert mine.post("/stripe/orders", {**asked, "tier": "tiny"}, format="json").status_code == 409
    assert mine.post("/stripe/orders", {**asked, "tier": "small"}, format="json").status_code == 200


def test_an_owner_who_changes_the_choice_again_and_again_costs_one_call(
    small: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    for _ in range(20):
        choose(agent)
        keep(agent)
        repricing.reprice_due(now=clock.now)
        clock.go(timedelta(seconds=1))
    choose(agent)
    before = len(stripe.calls)
    clock.go(timedelta(minutes=1))
    repricing.reprice_due(now=clock.now)
    assert ([call.name for call in stripe.calls[before:]], price(stripe)) == (
        ["GET /v1/subscriptions/*", "POST /v1/subscriptions/*"],
        500,
    )
    assert len(stripe.called("POST /v1/subscriptions/*")) == 1
