"""The parameters of a new Checkout Session: the product, the customer, and our metadata."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from agents.errors import renew_url
from agents.models import Agent
from billing.models import StripeOrder
from billing.vocabulary import Period
from catalog.tiers import tier_of
from config.outgoing_mail import one_line

if TYPE_CHECKING:
    from stripe.params.checkout import SessionCreateParams

CURRENCY = "usd"
INTERVALS: dict[str, Literal["month", "year"]] = {Period.MONTHLY: "month", Period.ANNUAL: "year"}
MAX_NAME = 200


def cents(usd: Decimal) -> int:
    return int(usd * 100)


def form(order: StripeOrder, agent: Agent, *, taxed: bool) -> SessionCreateParams:
    """The parameters. Prices include tax. Only cards: they answer at once and can be charged again."""
    # `id`, not `pk`: the primary key is the parent row, which is not saved yet
    known = {"order": order.id, "agent": agent.pk}
    asked: SessionCreateParams = {
        "mode": "subscription",
        "customer": order.customer_id,
        "client_reference_id": order.id,
        "allowed_payment_method_types": ["card"],
        "adaptive_pricing": {"enabled": False},
        "line_items": [
            {
                "quantity": 1,
                "price_data": {
                    "currency": CURRENCY,
                    "unit_amount": cents(order.price_usd),
                    "tax_behavior": "inclusive",
                    "recurring": {"interval": INTERVALS[order.period]},
                    "product_data": {"name": one_line(f"{tier_of(order.tier).name}: {agent.name}")[:MAX_NAME]},
                },
            }
        ],
        "metadata": known,
        "subscription_data": {"metadata": known},
        "success_url": renew_url(agent.pk),
        "cancel_url": renew_url(agent.pk),
        "expires_at": int(order.expires_at.timestamp()),
    }
    if taxed:
        asked["automatic_tax"] = {"enabled": True}
        asked["billing_address_collection"] = "required"
        asked["customer_update"] = {"address": "auto", "name": "auto"}
        asked["tax_id_collection"] = {"enabled": True}
    return asked
