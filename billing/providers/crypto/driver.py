"""The driver of stablecoins: each agent has a deposit address of its own."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from agents.models import Agent
from billing.models import CryptoOrder, Order, Payment
from billing.providers.base import Currency, ProviderDriver, ProviderOffer
from billing.providers.crypto import chain, configuration, orders, settling
from billing.vocabulary import Asset, Period, Provider


class Coin(Currency):
    """A stablecoin. Its decimals differ between chains."""

    def __init__(self, asset: Asset) -> None:
        self.code, self.name = asset.value, asset.upper()

    def decimals(self, payment: Payment | None = None) -> int | None:
        """The decimals of the payment's order. The order's id is the first part of `external_id`, also for refunds.

        Without an order: the decimals of the agent's newest order in the same coin, else those in the settings, else
        those of the coin's newest order.
        """
        newest = CryptoOrder.objects.filter(asset=self.code).order_by("-created_at")
        if payment is not None:
            known = newest.filter(agent=payment.agent_id).values_list("decimals", flat=True)
            found = known.filter(pk=payment.external_id.partition(":")[0]).first()
            found = known.first() if found is None else found
            if found is not None:
                return found
        found = configuration.decimals(self.code)
        return newest.values_list("decimals", flat=True).first() if found is None else found


class CoinDriver(ProviderDriver):
    ordered_at = "/crypto/orders"
    shown_for = taken_late = settling.LATE

    def __init__(self, asset: Asset) -> None:
        self.asset, self.currency = asset, Coin(asset)
        self.name = self.currency.name

    @property
    def offer(self) -> ProviderOffer:
        settings = configuration.current()
        active = settings is not None and self.asset in settings.tokens and not chain.fault(settings.chain_id)
        return ProviderOffer(
            id=Provider(self.asset),
            label=self.name,
            active=active,
            note="A stablecoin deposit: POST /crypto/orders gives the address.",
        )

    def order(self, agent: Agent, *, tier: str, period: Period, coupon: str, now: datetime) -> CryptoOrder:
        return orders.place(agent, asset=self.asset, tier=tier, period=period, coupon=coupon, now=now)

    def money_seen(self, order: Order) -> bool:
        return orders.money_seen(order, now=timezone.now())

    def money_noted(self, order: Order) -> bool:
        return CryptoOrder.objects.filter(pk=order.pk, seen__gt=0).exists()


def driver(provider: Provider) -> CoinDriver:
    return CoinDriver(Asset(provider))
