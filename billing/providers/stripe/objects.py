"""Stripe's objects as dataclasses, with the fields that we need. Anything unexpected raises Unreadable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from billing.providers.stripe.api import PricedItem
from billing.providers.stripe.errors import StripeUnreadable

MAX_TEXT = 100
MAX_NUMBER = 10**12
HUNDRED = 100
LATEST = 253_402_214_400  # the year 9999
FAILED = {"failed", "canceled"}  # Stripe's words for the status of a refund

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    id: str
    status: str  # open, complete, expired
    customer: str
    subscription: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionObject:
    id: str
    status: str
    customer: str
    order: str  # from our own metadata; empty for subscriptions that others sell in this account
    cancels: bool
    period_end: datetime | None
    latest_invoice: str
    item: PricedItem | None  # what it charges for; None if there are several items


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceObject:
    """A subscription's invoice at Stripe. Amounts are cents of `currency`."""

    id: str
    subscription: str  # empty if the invoice is not for a subscription
    order: str
    customer: str
    status: str
    currency: str
    total: int
    paid: int
    elsewhere: int  # the part that was not paid through Stripe
    is_first: bool
    attempts: int
    payment_intent: str
    paid_at: datetime | None
    page: str  # the page where the customer pays it or passes 3-D Secure
    tax: int
    rates: tuple[str, ...]  # the ids of the tax rates
    reverse_charge: bool
    percent: Decimal | None = None  # the sum of these tax rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Refund:
    cents: int
    failed: bool  # the money came back to us


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeCharge:
    """A charge with all its refunds, the oldest first."""

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


def card(told: Json) -> SubscriptionObject:
    items = [one for one in _object(told, "items").get("data") or [] if isinstance(one, Mapping)]
    ends = [_moment(one, "current_period_end") for one in items]
    return SubscriptionObject(
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


def bill(told: Json) -> InvoiceObject:
    parent = _object(_object(told, "parent"), "subscription_details")
    taxes = [one for one in told.get("total_taxes") or [] if isinstance(one, Mapping)]
    return InvoiceObject(
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
    """The percentage of a tax rate. Raises Unreadable."""
    value = told.get("effective_percentage")
    value = told.get("percentage") if value is None else value
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= HUNDRED:
        raise StripeUnreadable("percentage is no percentage")
    return Decimal(str(value))


def charge(told: Json, *, refunds: Sequence[Json]) -> StripeCharge:
    """A charge from Stripe's object and its list of `refunds`, the newest first."""
    return StripeCharge(
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
    """The payment intent that paid the invoice. Empty if it is unpaid or was paid otherwise."""
    for one in _object(told, "payments").get("data") or []:
        if isinstance(one, Mapping) and one.get("status") == "paid":
            return _name(_object(one, "payment"), "payment_intent")
    return ""


def _order(told: Json) -> str:
    return str(_object(told, "metadata").get("order") or "")[:MAX_TEXT]


def _object(told: Json, name: str) -> Json:
    """The object with this name, or an empty one."""
    value = told.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise StripeUnreadable(f"{name} is no object")
    return value


def _text(told: Json, name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_TEXT or not value.isprintable():
        raise StripeUnreadable(f"{name} is no text of 1 to {MAX_TEXT} characters")
    return value


def _name(told: Json, name: str) -> str:
    """The id of another object, expanded or not. Empty if there is none."""
    value = told.get(name)
    if value is None:
        return ""
    return _text(value, "id") if isinstance(value, Mapping) else _text(told, name)


def _number(told: Json, name: str) -> int:
    """The number with this name, or 0 if there is none."""
    value = told.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not -MAX_NUMBER <= value <= MAX_NUMBER:
        raise StripeUnreadable(f"{name} is no whole number")
    return value


def _moment(told: Json, name: str) -> datetime | None:
    seconds = told.get(name)
    if seconds is None:
        return None
    if not isinstance(seconds, int) or not 0 <= seconds <= LATEST:
        raise StripeUnreadable(f"{name} is no time")
    return datetime.fromtimestamp(seconds, UTC)
