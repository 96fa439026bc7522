"""Gumroad and Lemon Squeezy for these tests, and helpers that read the agents' state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from billing import licences, verification
from billing.licences import Key
from billing.models import Payment, Subscription
from billing.vocabulary import Provider
from tests.billing.conftest import Clock
from tests.doubles.gumroad_server import GumroadSale, GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer
from webhooks.models import Event

TINY, SMALL, ONCE = "prod-tiny==", "prod-tiers==", "prod-once=="
KEY = "A1B2C3D4-E5F60718-293A4B5C-6D7E8F90"
LEMON = "80e15db5-c796-436b-850c-8f9c98a48abe"
PLENTY = 1_000_000


@pytest.fixture
def gumroad(settings: Any) -> Iterator[GumroadServer]:
    """Three products: one for the smallest plan, one with variants for two plans, and one that is sold only once."""
    with GumroadServer() as server:
        settings.GUMROAD_URL = server.url
        settings.GUMROAD_PRODUCTS = {"tiny": TINY, "small": SMALL, "medium": SMALL, "tiny:annual": ONCE}
        settings.GUMROAD_VARIANTS = {"small": "(Small)", "medium": "(Medium)"}
        settings.GUMROAD_BUY_URLS = {"tiny": "https://shop.example/l/tiny"}
        settings.GUMROAD_REQUESTS_PER_MINUTE = PLENTY
        yield server


@pytest.fixture
def lemon(settings: Any) -> Iterator[LemonSqueezyServer]:
    with LemonSqueezyServer() as server:
        settings.LEMONSQUEEZY_URL = server.url
        settings.LEMONSQUEEZY_STORE, settings.LEMONSQUEEZY_PRODUCTS = "1", ["10"]
        settings.LEMONSQUEEZY_VARIANTS = {"tiny:monthly": "101", "small:monthly": "102", "tiny:annual": "103"}
        settings.LEMONSQUEEZY_REQUESTS_PER_MINUTE = PLENTY
        yield server


@pytest.fixture
def sale(agent: Agent, clock: Clock, gumroad: GumroadServer) -> GumroadSale:
    """A monthly membership that pays for the agent."""
    sold = gumroad.sell(KEY)
    activate(agent, clock)
    gumroad.asked.clear()
    return sold


def activate(agent: Agent, clock: Clock, text: str = KEY, provider: Provider = Provider.GUMROAD) -> Subscription:
    key = Key(provider=provider, text=text)
    return licences.activate(agent, key, tier=None, period=None, actor="user:x", now=clock.now)


def kinds(agent: Agent) -> list[str]:
    return list(Payment.objects.filter(agent=agent).order_by("at").values_list("kind", flat=True))


def licence_of(agent: Agent) -> Subscription:
    return Subscription.objects.get(agent=agent)


def check(clock: Clock, after: timedelta | None = None, *, at: datetime | None = None) -> int:
    """Move the clock, and verify the licences that are due."""
    if after is not None:
        clock.go(after)
    if at is not None:
        clock.at(at)
    return verification.verify_due()


def confirmed(agent: Agent) -> list[dict[str, object]]:
    events = Event.objects.filter(agent=agent, type="payment.confirmed").order_by("created_at", "id")
    return [json.loads(event.body)["data"] for event in events]


def post(client: APIClient, agent: Agent, key: str = KEY, **changes: Any) -> Any:
    body = {"agentId": agent.pk, "period": "monthly", "provider": "gumroad", "licenseKey": key} | changes
    return client.post(
        "/subscriptions", {name: value for name, value in body.items() if value is not ...}, format="json"
    )
