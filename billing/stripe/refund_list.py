"""Stripe's list of the refunds of a charge: it alone says which of them failed later."""

from __future__ import annotations

from billing.providers.stripe_api import PAGE, Json, StripeAway, _ask


def of_charge(charge_id: str) -> list[Json]:
    """All of them, however they went. Raises StripeAway, StripeRefused."""
    found: list[Json] = []
    while True:
        page, more = _page(charge_id, after=str(found[-1].get("id") or "") if found else "")
        found += page
        if not more or not page:
            return found


def _page(charge_id: str, *, after: str) -> tuple[list[Json], bool]:
    told = _ask(
        "list refunds",
        lambda client: client.v1.refunds.list(
            {"charge": charge_id, "limit": PAGE, "starting_after": after}
            if after
            else {"charge": charge_id, "limit": PAGE}
        ),
    )
    listed = told.get("data")
    if not isinstance(listed, list):
        raise StripeAway("list refunds", "answered without a list")
    return [one for one in listed if isinstance(one, dict)], bool(told.get("has_more"))
