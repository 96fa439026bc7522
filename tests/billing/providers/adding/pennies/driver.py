"""The driver of Pennies."""

from __future__ import annotations

from datetime import datetime

from agents.models import Agent
from billing.models import Order
from billing.providers.base import ProviderDriver, ProviderOffer
from billing.vocabulary import Period, Provider
from tests.billing.providers.adding.pennies import orders, service


class PenniesDriver(ProviderDriver):
    name = "Pennies"
    ordered_at = "/pennies/orders"

    @property
    def offer(self) -> ProviderOffer:
        return ProviderOffer(
            id=Provider(orders.ID),
            label="Pennies",
            active=bool(service.url()),
            note="POST /pennies/orders opens a bill.",
        )

    def order(self, agent: Agent, *, tier: str, period: Period, coupon: str, now: datetime) -> Order:
        return orders.order(agent, tier=tier, period=period, coupon=coupon, now=now)

    def money_seen(self, order: Order) -> bool:
        return service.is_paid(order.pk)


def driver(_: Provider) -> PenniesDriver:
    return PenniesDriver()
