"""Orders and cards of people at Stripe."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from billing.models import CardSubscription, StripeOrder
from billing.providers.stripe import orders
from billing.vocabulary import Period
from tests.billing.conftest import Clock
from tests.billing.providers.stripe.shop import PlaceOrder, paid_by_card, placing
from tests.doubles.stripe_protocol import Json
from tests.doubles.stripe_server import StripeDouble


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def place(client: APIClient, agent: Agent, stripe: StripeDouble) -> PlaceOrder:
    """`place(period="annual", …)` places an order through the API and returns it."""
    return placing(client, agent)


@pytest.fixture
def order(place: PlaceOrder) -> StripeOrder:
    """An order for a month of tiny at $5."""
    return place()


@pytest.fixture
def card(order: StripeOrder, stripe: StripeDouble) -> CardSubscription:
    """The paid order's card."""
    return paid_by_card(order, stripe)


def ordered(agent: Agent, clock: Clock) -> StripeOrder:
    """An order without the API, whose sessions end after a week."""
    return orders.order(agent, tier=None, period=Period.MONTHLY, now=clock.now)


def invoices(stripe: StripeDouble) -> list[Json]:
    return stripe.world.all("invoice")
