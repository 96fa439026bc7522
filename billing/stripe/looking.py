"""Asks Stripe how something is now, and has our rows follow. What an event said does not matter: it may be old."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from billing.models import StripeInvoice
from billing.providers import stripe_api
from billing.stripe import cards, charging, disputes, objects, returns
from billing.stripe.errors import Unreadable
from billing.stripe.objects import Bill

# Of one invoice, and of one charge: more than anybody has.
MOST_RATES, MOST_PAGES = 10, 10


class Kind(StrEnum):
    CHECKOUT = "checkout"
    CARD = "card"
    INVOICE = "invoice"
    CHARGE = "charge"
    DISPUTE = "dispute"


def look(kind: Kind, name: str, *, now: datetime) -> None:
    """Raises StripeAway, StripeRefused, Unreadable, and Stray for what an operator has to look at."""
    LOOKS[kind](name, now)


def _checkout(name: str, now: datetime) -> None:
    told = objects.checkout(stripe_api.session(name))
    if told.subscription:
        _card(told.subscription, now)


def _card(name: str, now: datetime) -> None:
    """With its newest invoice, in case nobody told of that."""
    told = objects.card(stripe_api.subscription(name))
    if cards.note(told, now=now) is not None and told.latest_invoice:
        bill = _bill(told.latest_invoice)
        if bill.subscription == told.id:
            charging.take(bill, now=now)


def _invoice(name: str, now: datetime) -> None:
    bill = _bill(name)
    if not bill.subscription:
        return
    told = objects.card(stripe_api.subscription(bill.subscription))
    if cards.note(told, now=now) is not None:
        charging.take(bill, now=now)


def _bill(name: str) -> Bill:
    """With the rate of its tax, for which Stripe is asked separately."""
    bill = objects.bill(stripe_api.invoice(name))
    if not bill.tax or not 0 < len(bill.rates) <= MOST_RATES:
        return bill
    percents = (objects.percentage(stripe_api.tax_rate(rate)) for rate in bill.rates)
    return replace(bill, percent=sum(percents, Decimal(0)))


def _refunds(charge: str) -> list[stripe_api.Json]:
    """All refunds of a charge: only this list says which of them failed later. Raises Unreadable for an endless one."""
    found: list[stripe_api.Json] = []
    for _ in range(MOST_PAGES):
        page, more = stripe_api.refunds(charge, after=str(found[-1].get("id") or "") if found else "")
        found += page
        if not more or not page:
            return found
    raise Unreadable("the list of refunds has no end")


def _charge(name: str, now: datetime) -> None:
    told = objects.charge(stripe_api.charge(name), refunds=_refunds(name))
    if _is_counted(told.payment_intent, now):
        returns.note(told, now=now)


def _dispute(name: str, now: datetime) -> None:
    told = objects.dispute(stripe_api.dispute(name))
    if _is_counted(told.payment_intent, now):
        disputes.note(told, now=now)


def _is_counted(payment_intent: str, now: datetime) -> bool:
    """Whether the ledger has it; where it goes back before its invoice was told of, that is looked at first."""
    if not payment_intent:
        return False
    counted = StripeInvoice.objects.filter(payment_intent=payment_intent, payment__isnull=False)
    if not counted.exists() and (name := stripe_api.invoice_of(payment_intent)):
        _invoice(name, now)
    return counted.exists()


LOOKS: dict[Kind, Callable[[str, datetime], None]] = {
    Kind.CHECKOUT: _checkout,
    Kind.CARD: _card,
    Kind.INVOICE: _invoice,
    Kind.CHARGE: _charge,
    Kind.DISPUTE: _dispute,
}
