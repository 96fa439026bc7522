"""The driver of stablecoins: each agent has a deposit address of its own."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from billing.models import CryptoOrder, Order
from billing.providers.base import ProviderOffer
from billing.providers.crypto import chain, configuration, orders
from billing.vocabulary import Asset, Provider


@dataclass(frozen=True, slots=True)
class Deposits:
    offer: ProviderOffer

    def money_seen(self, order: Order) -> bool:
        return orders.money_seen(order, now=timezone.now())

    def money_noted(self, order: Order) -> bool:
        return CryptoOrder.objects.filter(pk=order.pk, seen__gt=0).exists()


def driver(provider: Provider) -> Deposits:
    settings = configuration.current()
    active = settings is not None and Asset(provider) in settings.tokens and not chain.fault(settings.chain_id)
    return Deposits(
        ProviderOffer(
            id=provider,
            label=provider.label.upper(),
            active=active,
            note="A stablecoin deposit: POST /crypto/orders gives the address.",
        )
    )
