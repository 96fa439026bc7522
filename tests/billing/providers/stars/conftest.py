"""Orders that people place with the bot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from billing.models import StarsOrder
from billing.providers.stars import orders
from tests.billing.conftest import Clock
from tests.doubles.telegram_payments_server import TelegramPayments

PlaceOrder = Callable[..., StarsOrder]


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def place(client: APIClient, agent: Agent, telegram: TelegramPayments) -> PlaceOrder:
    """`place(period="annual", …)` places an order through the API and returns it."""

    def placed(**wanted: Any) -> StarsOrder:
        answer = client.post("/stars/orders", {"agentId": agent.pk, "period": "monthly", **wanted}, format="json")
        assert answer.status_code == 200, answer.content
        return StarsOrder.objects.get(pk=answer.json()["order"]["id"])

    return placed


@pytest.fixture
def order(place: PlaceOrder) -> StarsOrder:
    """An order for a month of tiny at $5: 385 Stars."""
    return place()


@pytest.fixture
def expire(clock: Clock) -> Callable[[], int]:
    return lambda: orders.expire_due(now=clock.now)
