"""Lemon Squeezy's API with the seller's key: charges, refunds, and how to stop a card.

The licence API tells nothing of these: a key stays active although its money was refunded
(docs/how-to/sell-by-card.md). Amounts are what the seller receives, in US cents, without the taxes that Lemon Squeezy
collects.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import requests
from django.conf import settings

from billing.providers.base import LicenceCharge
from billing.providers.licence_http import NoAnswer, Reply, moment, send
from billing.vocabulary import Provider
from config.operator_settings import operator_settings

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/vnd.api+json"
OK, REFUSED, NOT_FOUND = 200, {401, 403}, 404
MOST = 100  # per page: more than eight years of monthly charges
CHARGED = {"paid", "refunded", "partial_refund"}
TAKEN_AWAY = {"refunded", "fraudulent"}  # states of an order: fully refunded, or taken back by a bank
# `updated` is left out: an invoice for a change of plan within a period starts no new period.
PERIODS = {"initial", "renewal"}


class KeyRefused(Exception):
    """LEMONSQUEEZY_API_KEY is invalid, or has no right to read this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySale:
    """The sale of a key, with its charges, oldest first.

    `subscription` and `status` are empty for a one-off sale.
    """

    subscription: str = ""
    status: str = ""
    cancels: bool = False
    charges: tuple[LicenceCharge, ...]


def is_on() -> bool:
    return bool(operator_settings.LEMONSQUEEZY_API_KEY)


def sale_of(order_item: str, *, order: str) -> KeySale:
    """The sale of this order item. Raises NoAnswer, AskedTooOften, KeyRefused."""
    first = _charge(order, _attributes(_get(f"orders/{order}").get("data")))
    found = _subscription_of(order_item)
    if found is None:
        return KeySale(charges=(first,) if first else ())
    name, about = found
    charges = _charges_of(name)
    if first and charges and charges[0].back < first.back:  # the order has refunds that its first invoice does not show
        charges[0] = replace(charges[0], back=min(first.back, charges[0].cents))
    return KeySale(
        subscription=name,
        status=str(about.get("status")),
        cancels=about.get("cancelled") is True,
        charges=tuple(charges),
    )


def stop_card(order_item: str) -> None:
    """Cancel the renewal of a sale. The paid time stays. Calling this twice is harmless.

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


def _charges_of(subscription: str) -> list[LicenceCharge]:
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
    headers = {"Authorization": f"Bearer {operator_settings.LEMONSQUEEZY_API_KEY}", "Accept": MEDIA_TYPE}
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


def _charge(name: str, about: Mapping[str, Any]) -> LicenceCharge | None:
    """The charge, or None if it was never charged: pending, failed, void."""
    status = str(about.get("status"))
    if status not in CHARGED | TAKEN_AWAY:
        return None
    at, total = moment(about.get("created_at")), _cents(about, "total_usd")
    if at is None:
        raise NoAnswer("a charge without its time")
    cents = max(0, total - _cents(about, "tax_usd"))
    return LicenceCharge(name=name, at=at, cents=cents, back=_back(status, about, cents=cents, total=total))


def _back(status: str, about: Mapping[str, Any], *, cents: int, total: int) -> int:
    """The refunded part, in cents of the seller's share. A refund flag without an amount means all."""
    part = about.get("refunded_amount_usd")
    if status in TAKEN_AWAY or (about.get("refunded") is True and not part):
        return cents
    return min(cents, _cents(about, "refunded_amount_usd") * cents // total) if total else 0


def _cents(about: Mapping[str, Any], name: str) -> int:
    found = about.get(name) or 0
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 10**9:
        raise NoAnswer(f"{name} is no amount")
    return found
