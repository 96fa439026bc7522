"""`POST /subscriptions` takes licence keys. For other providers the refusal says where to order."""

from __future__ import annotations

from billing.errors import GrantedOnly, LicenceRefused, SoldByOrder
from billing.licences import Key
from billing.vocabulary import LICENSED, Provider

ORDERED_AT = {
    Provider.USDT: "/crypto/orders",
    Provider.USDC: "/crypto/orders",
    Provider.STARS: "/stars/orders",
    Provider.STRIPE: "/stripe/orders",
}


def key_of(provider: Provider, text: str | None) -> Key:
    """The key to activate. Raises GrantedOnly, SoldByOrder, and LicenceRefused if there is no key."""
    if provider == Provider.INTERNAL:
        raise GrantedOnly
    if provider not in LICENSED:
        raise SoldByOrder(provider, ORDERED_AT[provider])
    if text is None or not text.strip():
        raise LicenceRefused(f"missing; buy a key of {provider} (GET /payment-providers) and give it here")
    return Key(provider=provider, text=text.strip())
