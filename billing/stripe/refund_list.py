"""Stripe's list of the refunds of a charge: it alone says which of them failed later."""

from __future__ import annotations

from billing.providers import stripe_api
from billing.providers.stripe_api import Json


def of_charge(charge_id: str) -> list[Json]:
    """All of them, however they went. Raises StripeAway, StripeRefused."""
    found: list[Json] = []
    while True:
        page, more = stripe_api.refunds(charge_id, after=str(found[-1].get("id") or "") if found else "")
        found += page
        if not more or not page:
            return found
