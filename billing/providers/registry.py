"""Which driver serves which provider. A driver's module is imported at its first use.

The module has `driver(provider) -> Driver`, which builds the driver from the settings at each call. `internal` has no
driver: operators grant it, and nobody buys it.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from billing.errors import NotConfigured
from billing.providers.base import LicenceDriver, ProviderDriver, ProviderOffer
from billing.vocabulary import LICENSED, Provider

MODULES: dict[Provider, str] = {
    Provider.GUMROAD: "billing.providers.gumroad.driver",
    Provider.LEMONSQUEEZY: "billing.providers.lemonsqueezy.driver",
    Provider.USDT: "billing.providers.crypto.driver",
    Provider.USDC: "billing.providers.crypto.driver",
    Provider.STARS: "billing.providers.stars.driver",
    Provider.STRIPE: "billing.providers.stripe.driver",
}


def driver_of(provider: Provider) -> ProviderDriver | None:
    """The driver, or None for a provider that cannot be bought from."""
    name = MODULES.get(provider)
    return cast("ProviderDriver", import_module(name).driver(provider)) if name else None


def licence_driver(provider: Provider) -> LicenceDriver:
    """The driver of a licence provider that is set up. Raises NotConfigured."""
    found = driver_of(provider) if provider in LICENSED else None
    if found is None or not found.offer.active:
        raise NotConfigured("provider", provider)
    return cast("LicenceDriver", found)


def cancel_url(provider: Provider) -> str:
    """The page where buyers of this provider's licences stop their card. Empty for other providers."""
    return cast("LicenceDriver", driver_of(provider)).cancel_url if provider in LICENSED else ""


def stops_cards(provider: Provider) -> bool:
    return provider in LICENSED and cast("LicenceDriver", driver_of(provider)).stops_cards


def unseen() -> list[str]:
    """One sentence for each thing that the active licence providers do not tell us."""
    drivers = [cast("LicenceDriver", driver_of(provider)) for provider in sorted(LICENSED)]
    return [driver.unseen for driver in drivers if driver.offer.active and driver.unseen]


def offers() -> list[ProviderOffer]:
    """Every provider that can be bought from now, or later once it is set up."""
    return [offer_of(provider) for provider in MODULES]


def offer_of(provider: Provider) -> ProviderOffer:
    found = driver_of(provider)
    return found.offer if found else ProviderOffer(id=provider, label=provider.label, active=False)
