"""Charges of cards: each paid invoice of ours buys one period, once."""

from __future__ import annotations

import random
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms
from billing.models import CardSubscription, Invoice, Payment, StripeEvent, StripeInvoice, StripeOrder, Subscription
from tests.agents.conftest import event_types
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay
from tests.billing.providers.stripe.conftest import invoices
from tests.billing.providers.stripe.shop import PlaceOrder, catch_up, work
from tests.doubles.stripe_server import StripeDouble, StripeFault

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]


def test_a_paid_checkout_pays_for_the_agent(
    client: APIClient, order: StripeOrder, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    stripe.world.pay(order.session_id)
    work()
    paid = Payment.objects.get()
    assert (paid.provider, paid.kind, paid.amount, paid.currency) == ("stripe", "payment", Decimal(500), "usd")
    assert (paid.external_id, paid.order_id) == (invoices(stripe)[0]["id"], order.pk)
    assert client.get(f"/stripe/orders/{order.pk}").json()["order"]["status"] == "paid"
    term = client.get(f"/agents/{agent.pk}/term").json()["term"]
    assert (term["mode"], term["paidProvider"], term["paidTill"]) == ("paid", "stripe", "2026-12-28T12:00:00Z")
    assert event_types(agent).count("payment.confirmed") == 1


def test_a_card_that_is_declined_pays_nothing(order: StripeOrder, stripe: StripeDouble) -> None:
    assert stripe.world.decline(order.session_id).status == 402
    work()
    order.refresh_from_db()
    assert (order.status, Payment.objects.exists()) == ("pending", False)


@pytest.mark.parametrize("seed", range(6))
def test_events_in_any_order_and_several_times_pay_once(
    order: StripeOrder, stripe: StripeDouble, clock: Clock, seed: int
) -> None:
    stripe.waiting = True
    card = stripe.world.pay(order.session_id)
    clock.go(5 * DAY)
    stripe.world.renew(card["id"])
    told = stripe.world.events * 3
    random.Random(seed).shuffle(told)
    for one in told:
        stripe.tell(one)
        if seed % 2:
            work()
    work()
    assert sorted(Payment.objects.values_list("kind", flat=True)) == ["payment", "renewal"]
    assert Subscription.objects.get().current_period_end == FREE_UNTIL.replace(year=2027, month=1)


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ({"currency": "eur"}, "5.00 of 5.00 EUR were paid by card, not 5.00 USD"),
        ({"amount_paid": 1}, "0.01 of 5.00 USD were paid by card, not 5.00 USD"),
        ({"amount_paid": 50_000, "total": 50_000}, "500.00 of 500.00 USD were paid by card, not 5.00 USD"),
        ({"amount_paid_off_stripe": 500}, "5.00 of 5.00 USD were paid by card, not 5.00 USD"),
        ({"customer": "cus_999"}, "another customer paid it: cus_999"),
    ],
)
def test_an_invoice_that_says_something_else_buys_nothing_and_waits_for_an_operator(
    order: StripeOrder, agent: Agent, stripe: StripeDouble, lie: dict[str, Any], why: str
) -> None:
    stripe.waiting = True
    stripe.world.pay(order.session_id)
    stripe.lies[invoices(stripe)[0]["id"]] = lie
    for one in stripe.world.events:
        stripe.tell(one)
    work()
    assert Payment.objects.open().get().unapplied == why
    assert not Subscription.objects.exists()
    order.refresh_from_db()
    assert order.status == "expired"


def test_an_invoice_that_names_another_order_buys_nothing(order: StripeOrder, stripe: StripeDouble) -> None:
    stripe.waiting = True
    stripe.world.pay(order.session_id)
    parent = invoices(stripe)[0]["parent"]["subscription_details"]
    parent["metadata"] = {"order": "cso_" + "0" * 24}
    catch_up()
    work()
    assert "another order" in Payment.objects.open().get().unapplied


def test_a_subscription_of_another_customer_is_shown_to_operators(order: StripeOrder, stripe: StripeDouble) -> None:
    stripe.waiting = True
    card = stripe.world.pay(order.session_id)
    card["customer"] = "cus_999"
    catch_up()
    work()
    assert not Payment.objects.exists()
    assert "cus_999" in StripeEvent.objects.exclude(stray="")[0].stray


def test_what_else_is_sold_at_stripe_is_none_of_our_business(order: StripeOrder, stripe: StripeDouble) -> None:
    stripe.waiting = True
    card = stripe.world.pay(order.session_id)
    card["metadata"] = {}
    invoices(stripe)[0]["parent"] = None
    catch_up()
    work()
    assert not Payment.objects.exists()
    assert not StripeEvent.objects.filter(due_at__isnull=False).exists()
    assert not StripeEvent.objects.exclude(stray="").exists()


@pytest.mark.parametrize(
    "fault",
    [
        StripeFault(status=500),
        StripeFault(status=429),
        StripeFault(status=200, body=b"<html>"),
        StripeFault(status=200, body=b'{"id": 5}'),
    ],
    ids=["500", "429", "no JSON", "no invoice"],
)
def test_a_stripe_that_does_not_answer_is_asked_again(
    order: StripeOrder, stripe: StripeDouble, clock: Clock, fault: StripeFault
) -> None:
    stripe.fail_next("GET /v1/invoices", *[fault] * 3)
    stripe.world.pay(order.session_id)
    work()
    assert not Payment.objects.exists()
    clock.go(timedelta(minutes=5))
    work()
    assert Payment.objects.get().unapplied == ""


def test_a_payment_for_an_agent_that_is_deleted_meanwhile_waits_for_an_operator(
    order: StripeOrder, agent: Agent, stripe: StripeDouble
) -> None:
    stripe.waiting = True
    stripe.world.pay(order.session_id)
    lifecycle.delete(agent, actor="owner")
    catch_up()
    work()
    assert Payment.objects.open().get().unapplied == "the agent is deleted"
    assert stripe.world.all("subscription")[0]["status"] == "canceled"


def test_another_plan_by_card_takes_the_place_of_the_one_before(
    client: APIClient, card: CardSubscription, place: PlaceOrder, stripe: StripeDouble, agent: Agent
) -> None:
    refused = client.post("/stripe/orders", {"agentId": agent.pk, "period": "monthly"}, format="json")
    assert refused.status_code == 409
    assert "renews by itself" in refused.json()["message"]
    stripe.world.pay(place(tier="small").session_id)
    work()
    work()
    assert {one["status"] for one in stripe.world.all("subscription")} == {"active", "canceled"}
    card.refresh_from_db()
    assert card.status == "canceled"
    assert Subscription.objects.paid().get().tier == "small"


def test_another_way_buys_only_the_plan_that_the_card_is_charged_for(
    client: APIClient, card: CardSubscription, agent: Agent
) -> None:
    asked = {"agentId": agent.pk, "period": "monthly", "provider": "usdc"}
    assert client.get("/subscriptions/quote", {**asked, "tier": "small"}).status_code == 409
    assert client.get("/subscriptions/quote", {**asked, "tier": "tiny"}).status_code == 200


@pytest.mark.parametrize(("percent", "tax"), [(23, "0.93"), (19, "0.80"), (8.875, "0.41")])
def test_stripe_tax_is_on_the_invoice_to_the_cent_and_by_its_rate(
    place: PlaceOrder, stripe: StripeDouble, settings: Any, agent: Agent, percent: float, tax: str
) -> None:
    settings.STRIPE_TAX = True
    settings.SELLER_NAME, settings.SELLER_ADDRESS, settings.SELLER_COUNTRY = "Pods Ltd", "1 Road", "IE"
    stripe.world.tax_percent = percent
    stripe.world.pay(place().session_id)
    work()
    written = Invoice.objects.get()
    assert (written.total_usd, written.tax_usd, written.tax_name) == (Decimal(5), Decimal(tax), "Tax")
    assert written.tax_percent == Decimal(str(percent))


def test_who_dies_between_the_inbox_and_the_work_has_it_done_by_the_next(
    order: StripeOrder, stripe: StripeDouble, clock: Clock
) -> None:

    stripe.fail_next("GET /v1/subscriptions", StripeFault(status=500, seconds=0))
    stripe.world.pay(order.session_id)
    # A worker claimed it and never finished.
    StripeEvent.objects.update(due_at=clock.now + timedelta(minutes=2), attempts=1)
    work()
    assert not Payment.objects.exists()
    clock.go(timedelta(minutes=2))
    work()
    clock.go(timedelta(minutes=2))
    work()
    assert Payment.objects.count() == StripeInvoice.objects.count() == 1
    assert agent_terms.term(order.agent, now=clock.now).mode == "paid"


def test_money_of_other_ways_is_added_to_what_the_card_paid(card: CardSubscription, agent: Agent, pay: Pay) -> None:
    pay(agent)
    assert Subscription.objects.get().current_period_end == FREE_UNTIL.replace(year=2027, month=1)
