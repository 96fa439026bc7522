"""When a subscription ends here, Stripe stops charging the card, however long Stripe takes to answer."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import lifecycle
from billing.models import CardSubscription, Payment, StripeCustomer, Subscription
from billing.providers.stripe import cancelling, customers
from billing.providers.stripe.api import StripeAway
from tests.agents.conftest import signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, tick
from tests.billing.providers.stripe.conftest import ordered
from tests.billing.providers.stripe.shop import PlaceOrder, work
from tests.doubles.stripe_server import StripeDouble, StripeFault

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

CANCEL = "DELETE /v1/subscriptions"


def at_stripe(stripe: StripeDouble) -> str:
    return str(stripe.world.all("subscription")[0]["status"])


def cancel(client: APIClient) -> None:
    assert client.post(f"/subscriptions/{Subscription.objects.get().pk}/cancel").status_code == 200


def test_a_subscription_that_its_owner_cancels_is_cancelled_there_and_runs_to_its_end(
    client: APIClient, card: CardSubscription, stripe: StripeDouble
) -> None:
    end = Subscription.objects.get().current_period_end
    cancel(client)
    work()
    row = Subscription.objects.get()
    assert (row.status, row.current_period_end, at_stripe(stripe)) == ("canceled", end, "canceled")
    assert stripe.called("DELETE /v1/subscriptions/*") == [{"prorate": "false", "invoice_now": "false"}]


def test_who_cancels_while_a_refused_card_is_tried_again_is_charged_no_more(
    agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    clock.at(FREE_UNTIL + DAY)
    stripe.world.pay(ordered(agent, clock).session_id)
    work()
    clock.at(Subscription.objects.get().current_period_end + timedelta(hours=1))
    stripe.world.fail(CardSubscription.objects.get().subscription_id)
    work()
    tick(agent, clock)
    row = Subscription.objects.get()
    mine = signed_in(agent.user)
    answers = [mine.post(f"/subscriptions/{row.pk}/cancel") for _ in range(2)]
    work()
    assert ([one.status_code for one in answers], at_stripe(stripe)) == ([200, 409], "canceled")
    assert answers[0].json()["subscription"]["status"] == "expired"


def test_a_deleted_agents_card_is_not_charged_again(card: CardSubscription, agent: Agent, stripe: StripeDouble) -> None:
    lifecycle.delete(agent, actor="owner")
    work()
    assert at_stripe(stripe) == "canceled"


@pytest.mark.parametrize(
    "fault", [StripeFault(status=500), StripeFault(status=429), StripeFault(status=504, done=True)]
)
def test_it_is_asked_for_until_it_is_done(
    client: APIClient, card: CardSubscription, stripe: StripeDouble, clock: Clock, fault: StripeFault
) -> None:
    cancel(client)
    stripe.fail_next(CANCEL, fault, fault)
    done = []
    for _ in range(4):
        done.append(cancelling.cancel_due(now=clock.now))
        clock.go(timedelta(minutes=1))
    assert done == [0, 0, 1, 0]
    card.refresh_from_db()
    assert (card.status, card.attempts, at_stripe(stripe)) == ("canceled", 3, "canceled")


def test_who_dies_while_cancelling_is_followed_by_the_next(
    client: APIClient, card: CardSubscription, stripe: StripeDouble, clock: Clock
) -> None:
    cancel(client)
    # A worker claimed it and never finished.
    CardSubscription.objects.update(cancel_at=clock.now + timedelta(minutes=2), attempts=1)
    assert cancelling.cancel_due(now=clock.now) == 0
    clock.go(timedelta(minutes=2))
    assert cancelling.cancel_due(now=clock.now) == 1


def test_a_charge_after_it_was_cancelled_buys_nothing_and_waits_for_an_operator(
    client: APIClient, card: CardSubscription, stripe: StripeDouble, clock: Clock
) -> None:
    cancel(client)
    clock.go(timedelta(seconds=5))
    stripe.world.renew(card.subscription_id)
    work()
    assert "after its subscription had been canceled" in Payment.objects.open().get().unapplied


def test_a_charge_before_it_was_cancelled_counts_whenever_it_is_told_of(
    client: APIClient, card: CardSubscription, stripe: StripeDouble, clock: Clock
) -> None:
    stripe.waiting = True
    stripe.world.renew(card.subscription_id)
    clock.go(timedelta(minutes=5))
    cancel(client)
    for told in stripe.world.events:
        stripe.tell(told)
    work()
    assert Payment.objects.filter(unapplied="").count() == 2


def test_who_cancelled_may_subscribe_again(
    client: APIClient, card: CardSubscription, place: PlaceOrder, stripe: StripeDouble
) -> None:
    cancel(client)
    work()
    stripe.world.pay(place().session_id)
    work()
    assert Subscription.objects.get().status == "active"
    assert CardSubscription.objects.renewing().count() == 1
    assert timezone.now() < Subscription.objects.get().current_period_end


def test_with_its_account_a_customer_is_forgotten_there(card: CardSubscription, stripe: StripeDouble) -> None:
    owner = card.agent.user
    customers.forget(owner)
    customers.forget(owner)
    assert stripe.world.all("customer") == []
    assert at_stripe(stripe) == "canceled"
    assert not StripeCustomer.objects.exists()


def test_a_customer_that_stripe_cannot_be_told_of_stays_to_be_told_later(
    card: CardSubscription, stripe: StripeDouble
) -> None:
    down = StripeFault(status=500)
    stripe.fail_next("DELETE /v1/customers", *[down] * 5)
    with pytest.raises(StripeAway):
        customers.forget(card.agent.user)
    assert StripeCustomer.objects.exists()
