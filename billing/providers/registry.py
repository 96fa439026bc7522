"""Which driver serves which provider. Each is loaded when it is first asked for.

A driver's module has `driver(provider) -> Driver`, made anew from the settings at each call. `internal` has none: it is
granted in the admin and never bought.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from billing.errors import NotConfigured
from billing.providers.base import Driver, LicenceDriver, Offer
from billing.vocabulary import LICENSED, Provider

MODULES: dict[Provider, str] = {
    Provider.GUMROAD: "billing.providers.gumroad",
    Provider.LEMONSQUEEZY: "billing.providers.lemonsqueezy",
    Provider.USDT: "billing.providers.deposits",
    Provider.USDC: "billing.providers.deposits",
    Provider.STARS: "billing.providers.stars",
    Provider.STRIPE: "billing.providers.stripe",
}


def driver_of(provider: Provider) -> Driver | None:
    """None for what cannot be bought."""
    name = MODULES.get(provider)
    return cast("Driver", import_module(name).driver(provider)) if name else None


def licence_driver(provider: Provider) -> LicenceDriver:
    """The driver of a provider of licences that has its settings. Raises NotConfigured."""
    found = driver_of(provider) if provider in LICENSED else None
    if found is None or not found.offer.active:
        raise NotConfigured("provider", provider)
    return cast("LicenceDriver", found)


def cancel_url(provider: Provider) -> str:
    """Where buyers of this provider's licences have their cards charged no more; empty for others."""
    return cast("LicenceDriver", driver_of(provider)).cancel_url if provider in LICENSED else ""


def stops_cards(provider: Provider) -> bool:
    return provider in LICENSED and cast("LicenceDriver", driver_of(provider)).stops_cards


def unseen() -> list[str]:
    """What the providers of licences that are in use do not tell us, a sentence each."""
    drivers = [cast("LicenceDriver", driver_of(provider)) for provider in sorted(LICENSED)]
    return [driver.unseen for driver in drivers if driver.offer.active and driver.unseen]


def offers() -> list[Offer]:
    """Every provider that can be bought through, now or soon."""
    return [offer_of(provider) for provider in MODULES]


def offer_of(provider: Provider) -> Offer:
    found = driver_of(provider)
    return found.offer if found else Offer(id=provider, label=provider.label, active=False)
