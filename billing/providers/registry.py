"""Which package serves which provider: one line each.

A package has `driver.py` with `driver(provider)`, which builds the driver from the settings at each call. It may have
other parts, which are found by their names: `page.py`, `urls.py`, `tasks.py`, `admin.py`, `checks.py`, `invariants.py`
(CONTRIBUTING.md: Add a payment provider). Parts are imported at their first use. `internal` has no package: operators
grant it, and nobody buys it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import cast

from billing.errors import NotConfigured
from billing.providers.base import Currency, LicenceDriver, ProviderDriver, ProviderOffer
from billing.vocabulary import LICENSED, Provider

PACKAGES: dict[Provider, str] = {
    Provider.GUMROAD: "billing.providers.gumroad",
    Provider.LEMONSQUEEZY: "billing.providers.lemonsqueezy",
    Provider.USDT: "billing.providers.crypto",
    Provider.USDC: "billing.providers.crypto",
    Provider.STARS: "billing.providers.stars",
    Provider.STRIPE: "billing.providers.stripe",
}


def driver_of(provider: Provider) -> ProviderDriver | None:
    """The driver, or None for a provider that cannot be bought from."""
    package = PACKAGES.get(provider)
    return cast("ProviderDriver", import_module(f"{package}.driver").driver(provider)) if package else None


def sends_back(provider: str) -> bool:
    """Whether we send the provider's payments back ourselves (`ProviderDriver.sends_back`)."""
    found = driver_of(Provider(provider))
    return found is not None and found.sends_back


def drivers() -> list[ProviderDriver]:
    return [found for provider in PACKAGES if (found := driver_of(provider)) is not None]


def parts(name: str) -> list[ModuleType]:
    """The modules of this name, from all packages that have one."""
    names = dict.fromkeys(f"{package}.{name}" for package in PACKAGES.values())
    return [import_module(one) for one in names if find_spec(one)]


def part_of(provider: Provider, name: str) -> ModuleType | None:
    """The provider's module of this name, or None if its package has none."""
    module = f"{PACKAGES[provider]}.{name}"
    return import_module(module) if find_spec(module) else None


def name_of(provider: str | None) -> str:
    """The provider's name as people know it. Empty for `internal` and for an unknown one."""
    found = driver_of(Provider(provider)) if provider in PACKAGES else None
    return found.name if found else ""


def currencies() -> dict[str, Currency]:
    """What the providers are paid in beside US dollars, by code."""
    found = (driver.currency for driver in drivers())
    return {currency.code: currency for currency in found if currency}


def key_seller(provider: str | None) -> LicenceDriver | None:
    """The driver of a provider that sells licence keys. None for any other."""
    return cast("LicenceDriver", driver_of(Provider(provider))) if provider in LICENSED else None


def licence_driver(provider: Provider) -> LicenceDriver:
    """The driver of a licence provider that is set up. Raises NotConfigured."""
    found = key_seller(provider)
    if found is None or not found.offer.active:
        raise NotConfigured("provider", provider)
    return found


def unseen() -> list[str]:
    """One sentence for each thing that the active licence providers do not tell us."""
    sellers = [found for provider in sorted(LICENSED) if (found := key_seller(provider))]
    return [driver.unseen for driver in sellers if driver.offer.active and driver.unseen]


def offers() -> list[ProviderOffer]:
    """Every provider that can be bought from now, or later once it is set up."""
    return [driver.offer for driver in drivers()]


def offer_of(provider: Provider) -> ProviderOffer:
    found = driver_of(provider)
    return found.offer if found else ProviderOffer(id=provider, label=provider.label, active=False)
