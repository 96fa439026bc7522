"""Stripe: sold by Stripe Checkout, then the card is charged for each period."""

from __future__ import annotations

from datetime import datetime

from accounts.models import User
from agents.models import Agent
from billing.models import Order, Payment, StripeOrder
from billing.providers.base import ProviderDriver, ProviderOffer
from billing.providers.stripe import cards, configuration, customers, inbox, orders, sending
from billing.vocabulary import Period, Provider


class StripeDriver(ProviderDriver):
    name = "Stripe"
    ordered_at = "/stripe/orders"
    takes_coupons = False
    by_card = sends_back = True

    @property
    def offer(self) -> ProviderOffer:
        return ProviderOffer(
            id=Provider.STRIPE,
            label="Card",
            active=configuration.is_configured(),
            note="A card: POST /stripe/orders gives the address of a checkout. It is charged for each period until"
            " the subscription is canceled.",
        )

    def order(self, agent: Agent, *, tier: str, period: Period, coupon: str, now: datetime) -> StripeOrder:
        return orders.order(agent, tier=tier, period=period, coupon=coupon, now=now)

    def money_seen(self, order: Order) -> bool:
        """Whether the checkout was paid. If not, it is closed, so that nobody can pay it. Raises Unavailable.

        Our own rows never say so: once we know that a checkout is paid, its order is no longer pending.
        """
        return orders.money_seen(StripeOrder.objects.get(pk=order.pk))

    def send_back(self, payment: Payment, *, reason: str, actor: str, now: datetime) -> None:
        sending.ask(payment, reason=reason, actor=actor, now=now)

    def stop_charging(self, agent: Agent, *, now: datetime) -> None:
        cards.cancel(agent, now=now)

    def purge(self, *, now: datetime) -> None:
        inbox.purge(now=now)

    def forget(self, user: User) -> None:
        customers.forget(user)


def driver(_: Provider) -> StripeDriver:
    return StripeDriver()
