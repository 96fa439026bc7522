"""Refunds that must still go through Stripe, and cases to check there, are among the report's open items."""

from __future__ import annotations

import csv
import io

import pytest
from django.test import Client
from django.utils import timezone

from agents.models import Agent
from billing import corrections
from billing.models import CardSubscription, StripeEvent, StripeOrder
from tests.billing.conftest import Clock
from tests.billing.providers.stripe.shop import work
from tests.doubles.stripe_server import StripeDouble

pytestmark = pytest.mark.django_db

PAGE = "/admin/billing/reports/"


def open_items(client: Client) -> list[dict[str, str]]:
    answer = client.get(PAGE, {"from": "2026-11", "to": "2026-12", "csv": "open-items"})
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_a_refund_is_open_until_stripe_has_sent_it(
    card: CardSubscription, agent: Agent, stripe: StripeDouble, clock: Clock, admin_client: Client
) -> None:
    corrections.refund(agent, reason="asked", actor="operator:usr_0", now=clock.now)
    (item,) = open_items(admin_client)
    assert (item["kind"], item["amount"], item["agent"]) == ("card refund", "5.00", agent.pk)
    work()
    assert open_items(admin_client) == []


def test_an_event_that_is_nobodys_is_open(stripe: StripeDouble, clock: Clock, admin_client: Client) -> None:
    now = timezone.now()
    StripeEvent.objects.create(
        event_id="evt_1",
        type="invoice.paid",
        object_id="in_1",
        created_at=now,
        received_at=now,
        stray="another customer's",
    )
    (item,) = open_items(admin_client)
    assert (item["kind"], item["name"], item["why"]) == ("event", "evt_1", "another customer's")


def test_what_was_paid_in_another_currency_is_no_dollars_in_the_report(
    order: StripeOrder, agent: Agent, stripe: StripeDouble, admin_client: Client
) -> None:
    """Somebody changed the currency at Stripe: the money buys nothing, and euros do not count as dollars."""
    stripe.world.sells_in = "eur"
    stripe.world.pay(order.session_id)
    work()
    answer = admin_client.get(PAGE, {"from": "2026-11", "to": "2026-12", "csv": "sales"})
    (line,) = csv.DictReader(io.StringIO(answer.content.decode()))
    assert (line["currency"], line["received"], line["unapplied"]) == ("eur", "5.00", "5.00")
    assert (line["received_usd"], line["kept_usd"]) == ("0.00", "0.00")
