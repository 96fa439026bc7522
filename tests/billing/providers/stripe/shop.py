"""An account at Stripe, at a server that speaks the real API; its webhooks reach our views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from agents.models import Agent
from billing.models import CardSubscription, StripeOrder
from billing.next_plans import SETTLED
from billing.providers.stripe import cancelling, feed, inbox, orders, repricing, sending
from tests.doubles.stripe_server import KEY, SECRET, StripeDouble

CALLBACK = "/payments/stripe/callback"

PlaceOrder = Callable[..., StripeOrder]


def deliver(body: str, signature: str) -> int:
    """Call our webhook as Stripe does."""
    caller = APIClient(raise_request_exception=False)
    headers = {"HTTP_STRIPE_SIGNATURE": signature, "SERVER_NAME": "127.0.0.1"}
    answer = caller.post(CALLBACK, body.encode(), content_type="application/json", **headers)  # type: ignore[arg-type]
    return int(answer.status_code)


_doubles: list[StripeDouble] = []


def work() -> None:
    """Run everything that workers have to do now, and deliver Stripe's events."""
    now = timezone.now()
    for _ in range(2):
        while inbox.process_due(now=now):
            pass
        cancelling.cancel_due(now=now)
        repricing.reprice_due(now=now + SETTLED)
        sending.send_due(now=now)
        orders.expire_due(now=now)
        _doubles[-1].tell_the_rest()


def catch_up() -> int:
    return feed.catch_up(now=timezone.now())


def configured(settings: Any, url: str) -> None:
    settings.STRIPE_URL = url
    settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRETS = KEY, [SECRET]
    settings.STRIPE_TAX = False


@pytest.fixture
def stripe(settings: Any) -> Iterator[StripeDouble]:
    with StripeDouble(deliver) as double:
        configured(settings, double.url)
        _doubles.append(double)
        yield double
        _doubles.remove(double)


def placing(client: APIClient, agent: Agent) -> PlaceOrder:
    """`placed(period="annual", …)` places an order for the agent through the API and returns it."""

    def placed(**wanted: Any) -> StripeOrder:
        answer = client.post("/stripe/orders", {"agentId": agent.pk, "period": "monthly", **wanted}, format="json")
        assert answer.status_code == 200, answer.content
        return StripeOrder.objects.get(pk=answer.json()["order"]["id"])

    return placed


def paid_by_card(order: StripeOrder, stripe: StripeDouble) -> CardSubscription:
    """Pay the order; returns its card."""
    stripe.world.pay(order.session_id)
    work()
    return CardSubscription.objects.get()
