"""Lemon Squeezy's own interface, with the seller's key: what was charged, what went back, and how a card is stopped.

Its licence interface tells nothing of that: a key stays active though its money went back: docs/how-to/sell-by-card.md.
Amounts are what the seller receives: in cents of USD, without the taxes that Lemon Squeezy collects and pays.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import requests
from django.conf import settings

from billing.providers.base import Charge
from billing.providers.licence_http import NoAnswer, Reply, moment, send
from billing.vocabulary import Provider

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/vnd.api+json"
OK, REFUSED, NOT_FOUND = 200, {401, 403}, 404
MOST = 100  # of a page: over eight years of months
CHARGED = {"paid", "refunded", "partial_refund"}
TAKEN_AWAY = {"refunded", "fraudulent"}  # of an order: all of its money went back, or a bank took it
# An invoice for another plan within a period is no period of its own: `updated` is not among these.
PERIODS = {"initial", "renewal"}


class KeyRefused(Exception):  # as its interface says it
    """LEMONSQUEEZY_API_KEY is none, or may not read what we ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sale:
    """What was sold with a key; `charges` are the oldest first. `subscription` and its `status` are empty for what is
    sold once."""

    subscription: str = ""
    status: str = ""
    cancels: bool = False
    charges: tuple[Charge, ...]


def is_on() -> bool:
    return bool(settings.LEMONSQUEEZY_API_KEY)


def sale_of(order_item: str, *, order: str) -> Sale:
    """Raises NoAnswer, AskedTooOften, KeyRefused."""
    first = _charge(order, _attributes(_get(f"orders/{order}").get("data")))
    found = _subscription_of(order_item)
    if found is None:
        return Sale(charges=(first,) if first else ())
    name, about = found
    charges = _charges_of(name)
    if first and charges and charges[0].back < first.back:  # what goes back of an order is told there
        charges[0] = replace(charges[0], back=min(first.back, charges[0].cents))
    return Sale(
        subscription=name,
        status=str(about.get("status")),
        cancels=about.get("cancelled") is True,
        charges=tuple(charges),
    )


def stop_card(order_item: str) -> None:
    """Have what was sold not renew: what is paid stays so until its end. Twice is harmless.

    Raises NoAnswer, AskedTooOften, KeyRefused.
    """
    found = _subscription_of(order_item)
    if found is None or found[1].get("cancelled") is True:
        return
    reply = _ask("DELETE", f"subscriptions/{found[0]}")
    if reply.status == NOT_FOUND:
        return
    if reply.status != OK or _attributes(reply.body.get("data")).get("cancelled") is not True:
        raise NoAnswer(f"HTTP {reply.status}, which does not say that it is cancelled")


def _subscription_of(order_item: str) -> tuple[str, Mapping[str, Any]] | None:
    found = _listed(_get("subscriptions", {"filter[order_item_id]": order_item}))
    return _named(found[0]) if found else None


def _charges_of(subscription: str) -> list[Charge]:
    query = {"filter[subscription_id]": subscription, "page[size]": str(MOST)}
    named = map(_named, _listed(_get("subscription-invoices", query)))
    found = (_charge(name, about) for name, about in named if about.get("billing_reason") in PERIODS)
    return sorted((charge for charge in found if charge), key=lambda charge: charge.at)


def _get(path: str, query: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    reply = _ask("GET", path, query)
    if reply.status != OK:
        raise NoAnswer(f"HTTP {reply.status}")
    return reply.body


def _ask(method: str, path: str, query: Mapping[str, str] | None = None) -> Reply:
    url = f"{settings.LEMONSQUEEZY_URL}/v1/{path}"
    headers = {"Authorization": f"Bearer {settings.LEMONSQUEEZY_API_KEY}", "Accept": MEDIA_TYPE}
    request = requests.Request(method, url, headers=headers, params=query or {})
    reply = send(f"{Provider.LEMONSQUEEZY}-api", request, per_minute=settings.LEMONSQUEEZY_API_REQUESTS_PER_MINUTE)
    if reply.status in REFUSED:
        log.error("LEMONSQUEEZY_API_KEY is refused: refunds and disputes are not seen", extra={"status": reply.status})
        raise KeyRefused
    return reply


def _listed(body: Mapping[str, Any]) -> Sequence[Any]:
    found = body.get("data")
    if not isinstance(found, list):
        raise NoAnswer("a list that is none")
    return found


def _named(found: object) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(found, dict) or not isinstance(found.get("id"), str | int):
        raise NoAnswer("an object without its id")
    return str(found["id"])[:100], _attributes(found)


def _attributes(found: object) -> Mapping[str, Any]:
    attributes = found.get("attributes") if isinstance(found, dict) else None
    if not isinstance(attributes, dict):
        raise NoAnswer("an object without its attributes")
    return attributes


def _charge(name: str, about: Mapping[str, Any]) -> Charge | None:
    """None for what was never charged: pending, failed, void."""
    status = str(about.get("status"))
    if status not in CHARGED | TAKEN_AWAY:
        return None
    at, total = moment(about.get("created_at")), _cents(about, "total_usd")
    if at is None:
        raise NoAnswer("a charge without its time")
    cents = max(0, total - _cents(about, "tax_usd"))
    return Charge(name=name, at=at, cents=cents, back=_back(status, about, cents=cents, total=total))


def _back(status: str, about: Mapping[str, Any], *, cents: int, total: int) -> int:
    """Of a part that went back, the seller's share. A flag without an amount is of all."""
    part = about.get("refunded_amount_usd")
    if status in TAKEN_AWAY or (about.get("refunded") is True and not part):
        return cents
    return min(cents, _cents(about, "refunded_amount_usd") * cents // total) if total else 0


def _cents(about: Mapping[str, Any], name: str) -> int:
    found = about.get(name) or 0
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 10**9:
        raise NoAnswer(f"{name} is no amount")
    return found
