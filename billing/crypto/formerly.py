"""Tokens that the settings named once: nothing is paid with them, but what still comes of them is somebody's.

Orders remember the token that they were for. So its transfers are still read and its sweeps recorded, and operators
decide about what comes; should the settings name it again in time, late money pays as ever.
"""

from __future__ import annotations

from dataclasses import replace

from billing.crypto.configuration import Configuration
from billing.models import CryptoOrder
from billing.vocabulary import Asset


def watched(settings: Configuration) -> Configuration:
    """With the tokens of all orders that this chain ever had."""
    orders = CryptoOrder.objects.filter(chain_id=settings.chain_id).exclude(token__in=settings.sold)
    found = orders.order_by().values_list("token", "asset").distinct()
    return replace(settings, formerly={token: Asset(asset) for token, asset in found})
