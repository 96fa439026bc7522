"""A licence whose renewal is charged late, while a card already pays for its agent."""

from __future__ import annotations

from decimal import Decimal

from agents.models import Agent
from billing.models import Payment, Subscription
from billing.providers.stripe import orders
from billing.vocabulary import Period
from tests.agents.conftest import signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, Clock
from tests.billing.licences import KEY, activate, check
from tests.billing.providers.stripe.shop import work
from tests.doubles.gumroad_server import GumroadSale, GumroadServer
from tests.doubles.stripe_server import StripeDouble

OTHER = "B1B2C3D4-E5F60718-293A4B5C-6D7E8F90"
HOUR = DAY / 24
BY = {"reason": "asked", "actor": "operator:x"}
# Gumroad reports a refund of the key's purchase; after a change of plan that purchase is a renewal.
RENEWAL = {"sale_timestamp": "2026-12-29T12:00:00Z"}


def sell_with_failed_renewal(agent: Agent, gumroad: GumroadServer, clock: Clock) -> GumroadSale:
    clock.at(FREE_UNTIL + DAY)
    sold = gumroad.sell(KEY, sold_at=f"{clock.now:%Y-%m-%dT%H:%M:%SZ}")
    activate(agent, clock)
    sold.purchase = {"subscription_failed_at": f"{clock.now:%Y-%m-%dT%H:%M:%SZ}"}
    check(clock, 32 * DAY)
    return sold


def charge_beside_a_card(sold: GumroadSale, agent: Agent, stripe: StripeDouble, clock: Clock) -> Payment:
    stripe.world.pay(orders.order(agent, tier="small", period=Period.MONTHLY, now=clock.now).session_id)
    work()
    sold.purchase = {}
    check(clock, DAY + HOUR)
    return Payment.objects.open().get()


def gumroads() -> list[Payment]:
    return list(Payment.objects.filter(provider="gumroad").order_by("at", "id"))


def income() -> int:
    """Cents from Gumroad according to the ledger, minus refunds."""
    took = sum((row.amount or Decimal(0) for row in gumroads() if row.kind in {"payment", "renewal"}), Decimal(0))
    back = sum((row.amount or Decimal(0) for row in gumroads() if row.kind == "refund"), Decimal(0))
    return int(took - back)


def card_ends(agent: Agent, clock: Clock) -> None:
    answer = signed_in(agent.user).post(f"/subscriptions/{Subscription.objects.paid().get().pk}/cancel")
    assert answer.status_code == 200, answer.content
    work()
    check(clock, DAY + HOUR)
