"""Stripe: sold by Stripe Checkout, then the card is charged for each period (billing/providers/stripe/)."""

from __future__ import annotations

from billing.models import Order, StripeOrder
from billing.providers.base import ProviderDriver, ProviderOffer
from billing.providers.stripe import configuration, orders
from billing.vocabulary import Provider


class StripeDriver:
    @property
    def offer(self) -> ProviderOffer:
        return ProviderOffer(
            id=Provider.STRIPE,
            label="Card",
            active=configuration.is_configured(),
            note="A card: POST /stripe/orders gives the address of a checkout. It is charged for each period until"
            " the subscription is canceled.",
        )

    def money_seen(self, order: Order) -> bool:
        """Whether the checkout was paid. If not, it is closed, so that nobody can pay it. Raises Unavailable."""
        return orders.money_seen(StripeOrder.objects.get(pk=order.pk))

    def money_noted(self, order: Order) -> bool:
        """No: once we know that a checkout is paid, its order is no longer pending."""
        return False


def driver(_: Provider) -> ProviderDriver:
    return StripeDriver()
