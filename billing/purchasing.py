"""`POST /subscriptions` takes licence keys. For other providers the refusal says where to order."""

from __future__ import annotations

from billing.errors import GrantedOnly, LicenceRefused, SoldByOrder
from billing.licences import Key
from billing.providers import registry
from billing.vocabulary import LICENSED, Provider


def key_of(provider: Provider, text: str | None) -> Key:
    """The key to activate. Raises GrantedOnly, SoldByOrder, and LicenceRefused if there is no key."""
    driver = registry.driver_of(provider)
    if driver is None:
        raise GrantedOnly
    if provider not in LICENSED:
        raise SoldByOrder(provider, driver.ordered_at)
    if text is None or not text.strip():
        raise LicenceRefused(f"missing; buy a key of {provider} (GET /payment-providers) and give it here")
    return Key(provider=provider, text=text.strip())
