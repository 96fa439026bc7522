"""What Stripe tells of its objects, as much of it as we need. Read strictly: what makes no sense raises Unreadable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from billing.providers.stripe_api import PricedItem
from billing.stripe.errors import Unreadable

MAX_TEXT = 100
MAX_NUMBER = 10**12
HUNDRED = 100
LATEST = 253_402_214_400  # the year 9999
FAILED = {"failed", "canceled"}  # of refunds, in Stripe's words

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    id: str
    status: str  # open, complete, expired
    customer: str
    subscription: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A subscription at Stripe."""

    id: str
    status: str
    customer: str
    order: str  # as our own metadata say; empty for what others sell there
    cancels: bool
    period_end: datetime | None
    latest_invoice: str
    item: PricedItem | None  # what it charges for, where that is one thing


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """An invoice at Stripe, of a subscription. Amounts are cents of `currency`."""

    id: str
    subscription: str  # empty for an invoice of something else
    order: str
    customer: str
    status: str
    currency: str
    total: int
    paid: int
    elsewhere: int  # of it not through Stripe
    is_first: bool
    attempts: int
    payment_intent: str
    paid_at: datetime | None
    page: str  # where its customer pays it, or passes 3-D Secure
    tax: int
    rates: tuple[str, ...]  # the names of those that the tax is reckoned by
    reverse_charge: bool
    percent: Decimal | None = None  # what these rates are together


@dataclass(frozen=True, slots=True, kw_only=True)
class Refund:
    cents: int
    failed: bool  # its money came back


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """With all its refunds ever, the oldest first."""

    id: str
    payment_intent: str
    amount: int
    refunds: tuple[Refund, ...]
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    id: str
    payment_intent: str
    amount: int
    currency: str
    status: str


def checkout(told: Json) -> Checkout:
    return Checkout(
        id=_text(told, "id"),
        status=_text(told, "status"),
        customer=_name(told, "customer"),
        subscription=_name(told, "subscription"),
        url=str(told.get("url") or ""),
    )


def card(told: Json) -> Card:
    items = [one for one in _object(told, "items").get("data") or [] if isinstance(one, Mapping)]
    ends = [_moment(one, "current_period_end") for one in items]
    return Card(
        id=_text(told, "id"),
        status=_text(told, "status"),
        customer=_name(told, "customer"),
        order=_order(told),
        cancels=bool(told.get("cancel_at_period_end")) or told.get("cancel_at") is not None,
        period_end=max((end for end in ends if end), default=None),
        latest_invoice=_name(told, "latest_invoice"),
        item=_item(items[0]) if len(items) == 1 else None,
    )


def _item(told: Json) -> PricedItem:
    price = _object(told, "price")
    return PricedItem(
        id=_text(told, "id"),
        product=_name(price, "product"),
        cents=_number(price, "unit_amount"),
        currency=_text(price, "currency"),
        interval=_text(_object(price, "recurring"), "interval"),
    )


def bill(told: Json) -> Bill:
    parent = _object(_object(told, "parent"), "subscription_details")
    taxes = [one for one in told.get("total_taxes") or [] if isinstance(one, Mapping)]
    return Bill(
        id=_text(told, "id"),
        subscription=_name(parent, "subscription"),
        order=_order(parent),
        customer=_name(told, "customer"),
        status=_text(told, "status"),
        currency=_text(told, "currency").lower(),
        total=_number(told, "total"),
        paid=_number(told, "amount_paid"),
        elsewhere=_number(told, "amount_paid_off_stripe"),
        is_first=told.get("billing_reason") == "subscription_create",
        attempts=_number(told, "attempt_count"),
        payment_intent=_paid_by(told),
        paid_at=_moment(_object(told, "status_transitions"), "paid_at"),
        page=str(told.get("hosted_invoice_url") or ""),
        tax=sum(_number(one, "amount") for one in taxes),
        rates=tuple(filter(None, (_name(_object(one, "tax_rate_details"), "tax_rate") for one in taxes))),
        reverse_charge=any(one.get("taxability_reason") == "reverse_charge" for one in taxes),
    )


def percentage(told: Json) -> Decimal:
    """Of a tax rate. Raises Unreadable."""
    value = told.get("effective_percentage")
    value = told.get("percentage") if value is None else value
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= HUNDRED:
        raise Unreadable("percentage is no percentage")
    return Decimal(str(value))


def charge(told: Json, *, refunds: Sequence[Json]) -> Charge:
    """`refunds` as Stripe lists them, the newest first."""
    return Charge(
        id=_text(told, "id"),
        payment_intent=_name(told, "payment_intent"),
        amount=_number(told, "amount"),
        refunds=tuple(
            Refund(cents=_number(one, "amount"), failed=one.get("status") in FAILED) for one in reversed(refunds)
        ),
        currency=_text(told, "currency").lower(),
    )


def dispute(told: Json) -> Dispute:
    return Dispute(
        id=_text(told, "id"),
        payment_intent=_name(told, "payment_intent"),
        amount=_number(told, "amount"),
        currency=_text(told, "currency").lower(),
        status=_text(told, "status"),
    )


def _paid_by(told: Json) -> str:
    """The payment intent that paid it; empty where nothing did, or something else."""
    for one in _object(told, "payments").get("data") or []:
        if isinstance(one, Mapping) and one.get("status") == "paid":
            return _name(_object(one, "payment"), "payment_intent")
    return ""


def _order(told: Json) -> str:
    return str(_object(told, "metadata").get("order") or "")[:MAX_TEXT]


def _object(told: Json, name: str) -> Json:
    """Nothing, where there is none."""
    value = told.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Unreadable(f"{name} is no object")
    return value


def _text(told: Json, name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_TEXT or not value.isprintable():
        raise Unreadable(f"{name} is no text of 1 to {MAX_TEXT} characters")
    return value


def _name(told: Json, name: str) -> str:
    """The id of another object, empty where there is none; of an expanded one its own."""
    value = told.get(name)
    if value is None:
        return ""
    return _text(value, "id") if isinstance(value, Mapping) else _text(told, name)


def _number(told: Json, name: str) -> int:
    """0 where there is none."""
    value = told.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not -MAX_NUMBER <= value <= MAX_NUMBER:
        raise Unreadable(f"{name} is no whole number")
    return value


def _moment(told: Json, name: str) -> datetime | None:
    seconds = told.get(name)
    if seconds is None:
        return None
    if not isinstance(seconds, int) or not 0 <= seconds <= LATEST:
        raise Unreadable(f"{name} is no time")
    return datetime.fromtimestamp(seconds, UTC)
