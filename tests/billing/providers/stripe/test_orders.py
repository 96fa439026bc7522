"""Orders by card through the API: each order has its own checkout at Stripe."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import lifecycle
from billing.models import StripeCustomer, StripeOrder, Subscription
from billing.providers import registry
from billing.providers.stripe import api, orders
from billing.vocabulary import OrderStatus, Provider
from tests.billing.conftest import Clock
from tests.billing.providers.stripe.shop import PlaceOrder, catch_up, work
from tests.doubles.stripe_server import StripeDouble, StripeFault

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

OPEN = "POST /v1/checkout/sessions"
ORDER_KEYS = {"id", "userId", "agentId", "status", "createdAt", "paidAt", "tier", "priceUsd", "tierSnapshot"}


def post(client: APIClient, agent: Agent, **body: Any) -> Any:
    return client.post("/stripe/orders", {"agentId": agent.pk, "period": "monthly", **body}, format="json")


def test_an_order_is_a_checkout_of_its_own(client: APIClient, agent: Agent, stripe: StripeDouble, clock: Clock) -> None:
    body = post(client, agent, tier="small", period="annual").json()
    order = StripeOrder.objects.get()
    assert (set(body), set(body["order"])) == ({"order", "payment"}, ORDER_KEYS)
    assert body["order"]["id"].startswith("cso_")
    assert (body["order"]["tier"], body["order"]["status"], body["order"]["paidAt"]) == ("small", "pending", None)
    assert body["payment"] == {"checkoutUrl": order.checkout_url, "expiresAt": "2026-11-21T13:00:00Z"}
    assert client.get(f"/stripe/orders/{order.pk}").json() == body
    assert [one["id"] for one in client.get("/stripe/orders").json()["orders"]] == [order.pk]


def test_stripe_is_told_what_is_sold_and_what_it_is_for(order: StripeOrder, stripe: StripeDouble) -> None:
    (asked,) = stripe.called(OPEN)
    price = asked["line_items"][0]["price_data"]
    assert (price["currency"], price["unit_amount"], price["recurring"]) == ("usd", "500", {"interval": "month"})
    assert price["tax_behavior"] == "inclusive"
    assert asked["subscription_data"]["metadata"] == {"order": order.pk, "agent": order.agent_id}
    assert (asked["allowed_payment_method_types"], "automatic_tax" in asked) == (["card"], False)


def test_every_call_names_the_version_that_it_is_written_for_and_every_post_has_a_key(
    order: StripeOrder, stripe: StripeDouble
) -> None:
    import stripe as library

    assert library.api_version == api.VERSION
    assert {call.version for call in stripe.calls} == {api.VERSION}
    assert all(call.key for call in stripe.calls if call.name.startswith("POST"))


def test_with_stripe_tax_the_checkout_asks_for_an_address_and_a_tax_id(
    place: PlaceOrder, stripe: StripeDouble, settings: Any
) -> None:
    settings.STRIPE_TAX = True
    place()
    (asked,) = stripe.called(OPEN)
    assert asked["automatic_tax"] == {"enabled": "true"}
    assert (asked["billing_address_collection"], asked["tax_id_collection"]) == ("required", {"enabled": "true"})


def test_an_account_is_one_customer_however_often_it_orders(place: PlaceOrder, stripe: StripeDouble) -> None:
    place()
    place(tier="small")
    assert len(stripe.called("POST /v1/customers")) == 1
    assert StripeCustomer.objects.get().customer_id == stripe.called(OPEN)[1]["customer"]


def test_a_coupon_is_refused_and_never_ignored(client: APIClient, agent: Agent, stripe: StripeDouble) -> None:
    answer = post(client, agent, coupon="HALF")
    assert (answer.status_code, answer.json()["message"][:7]) == (400, "coupon:")
    assert not StripeOrder.objects.exists()


def test_a_checkout_for_an_order_that_is_refused_is_closed(
    client: APIClient, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    """Nobody may pay the second checkout while the first one can still be paid."""
    kept = post(client, agent, tier="small").json()["order"]["id"]
    StripeOrder.objects.filter(pk=kept).update(session_id="cs_test_999999999999999999999999")
    answer = post(client, agent, tier="medium")
    assert answer.status_code in {409, 503}, answer.content
    sessions = [one["status"] for one in stripe.world.all("checkout.session")]
    assert sessions == ["open", "expired"]


def test_the_same_order_again_is_the_pending_one(place: PlaceOrder, stripe: StripeDouble) -> None:
    assert place() == place()
    assert len(stripe.called(OPEN)) == 1


def test_other_terms_close_the_checkout_that_nobody_has_paid(place: PlaceOrder, stripe: StripeDouble) -> None:
    first = place()
    second = place(period="annual")
    first.refresh_from_db()
    assert (first.status, second.status) == (OrderStatus.EXPIRED, OrderStatus.PENDING)
    assert stripe.world.objects[first.session_id]["status"] == "expired"


def test_other_terms_are_refused_once_it_was_paid(
    client: APIClient, agent: Agent, place: PlaceOrder, stripe: StripeDouble
) -> None:
    stripe.lost = True
    first = place()
    stripe.world.pay(first.session_id)
    assert post(client, agent, period="annual").status_code == 409
    assert registry.driver_of(Provider.STRIPE).money_seen(first)  # type: ignore[union-attr]  # it has a driver


def test_what_nobody_pays_within_the_hour_is_closed_and_expires(
    place: PlaceOrder, stripe: StripeDouble, clock: Clock
) -> None:
    first = place()
    clock.go(timedelta(hours=1))
    second = place()
    first.refresh_from_db()
    assert (first.status, second.status) == (OrderStatus.EXPIRED, OrderStatus.PENDING)


def test_what_was_paid_and_not_told_of_is_found_when_its_hour_is_over(
    order: StripeOrder, stripe: StripeDouble, clock: Clock
) -> None:
    stripe.lost = True
    stripe.world.pay(order.session_id)
    clock.go(timedelta(hours=1))
    work()
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID
    assert Subscription.objects.get().provider == "stripe"


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_stripe_that_is_away_leaves_no_order(
    client: APIClient, agent: Agent, stripe: StripeDouble, status: int
) -> None:
    stripe.fail_next(OPEN, StripeFault(status=status), StripeFault(status=200, body=b"<html>"))
    assert [post(client, agent).status_code for _ in range(2)] == [503, 503]
    assert not StripeOrder.objects.exists()
    assert post(client, agent).status_code == 200


def test_where_stripe_is_sold_by_no_more_an_order_ends_a_day_later_and_late_money_pays_it(
    order: StripeOrder, stripe: StripeDouble, clock: Clock, settings: Any
) -> None:
    """The agent is not deleted while its order is pending."""
    catch_up()
    key, settings.STRIPE_SECRET_KEY = settings.STRIPE_SECRET_KEY, ""
    stripe.lost = True
    stripe.world.pay(order.session_id)
    for hours, status in ((24, OrderStatus.PENDING), (2, OrderStatus.EXPIRED)):
        clock.go(timedelta(hours=hours))
        orders.expire_due(now=clock.now)
        order.refresh_from_db()
        assert order.status == status
    settings.STRIPE_SECRET_KEY = key
    catch_up()
    work()
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID


def test_a_checkout_that_cannot_be_closed_stays_pending(order: StripeOrder, stripe: StripeDouble, clock: Clock) -> None:
    clock.go(timedelta(hours=1))
    stripe.fail_next(OPEN, StripeFault(status=500))
    orders.expire_due(now=clock.now)
    order.refresh_from_db()
    assert order.status == OrderStatus.PENDING
    orders.expire_due(now=clock.now)
    order.refresh_from_db()
    assert order.status == OrderStatus.EXPIRED


def test_the_checkout_of_a_deleted_agent_is_closed(
    order: StripeOrder, agent: Agent, stripe: StripeDouble, clock: Clock
) -> None:
    lifecycle.delete(agent, actor="owner")
    work()
    order.refresh_from_db()
    assert order.status == OrderStatus.EXPIRED
    assert stripe.world.objects[order.session_id]["status"] == "expired"


def test_a_key_that_stripe_refuses_is_the_operators_to_mend_and_is_never_shown(
    client: APIClient, agent: Agent, stripe: StripeDouble, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings.STRIPE_SECRET_KEY = "sk_live_wrong_and_secret"
    refused = post(client, agent)
    assert (refused.status_code, refused["Retry-After"]) == (503, "60")
    assert "Stripe does not take our key" in caplog.text
    assert "wrong_and_secret" not in caplog.text + refused.content.decode()


def test_without_its_settings_stripe_is_coming_soon(
    client: APIClient, agent: Agent, stripe: StripeDouble, settings: Any
) -> None:
    settings.STRIPE_WEBHOOK_SECRETS = []
    assert "coming soon" in post(client, agent).json()["message"]
    offers = client.get("/payment-providers").json()["paymentProviders"]
    assert next(one["status"] for one in offers if one["id"] == "stripe") == "soon"


def test_the_portal_is_there_once_an_order_was_made(
    client: APIClient, order: StripeOrder, stripe: StripeDouble
) -> None:
    assert client.post("/stripe/portal").json()["portal"]["url"].startswith("https://billing.stripe.example/")
    StripeCustomer.objects.all().delete()
    assert client.post("/stripe/portal").status_code == 409


def test_orders_of_others_are_not_there(client: APIClient, order: StripeOrder, other: APIClient) -> None:
    assert other.get(f"/stripe/orders/{order.pk}").status_code == 404
    assert client.get("/stripe/orders/cso_junk").status_code == 404
    assert other.get("/stripe/orders").json() == {"orders": []}
