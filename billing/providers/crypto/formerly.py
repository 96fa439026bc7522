"""Tokens that were in the settings earlier. They pay no new orders, but transfers of them still belong to somebody.

Orders keep the token that they were for. So its transfers are still read and its sweeps recorded, and operators decide
about new money. If the settings name the token again in time, late money pays as usual.
"""

from __future__ import annotations

from dataclasses import replace

from billing.models import CryptoOrder
from billing.providers.crypto.configuration import Configuration
from billing.vocabulary import Asset


def decimals(chain_id: int) -> dict[str, int]:
    """By address: the decimals of each token that an order on this chain was for."""
    orders = CryptoOrder.objects.filter(chain_id=chain_id).order_by()
    return dict(orders.values_list("token", "decimals").distinct())


def watched(settings: Configuration) -> Configuration:
    """The settings with the tokens of all orders on this chain."""
    orders = CryptoOrder.objects.filter(chain_id=settings.chain_id).exclude(token__in=settings.sold)
    found = orders.order_by().values_list("token", "asset").distinct()
    return replace(settings, formerly={token: Asset(asset) for token, asset in found})
