"""Asks Stripe how something is now, and has our rows follow. What an event said does not matter: it may be old."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from billing.models import StripeInvoice
from billing.providers import stripe_api
from billing.stripe import cards, charging, disputes, objects, refund_list, returns
from billing.stripe.objects import Bill


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
    """With the rate of its tax, which Stripe tells apart."""
    bill = objects.bill(stripe_api.invoice(name))
    if not bill.tax or not bill.rates:
        return bill
    percents = (objects.percentage(stripe_api.tax_rate(rate)) for rate in bill.rates)
    return replace(bill, percent=sum(percents, Decimal(0)))


def _charge(name: str, now: datetime) -> None:
    told = objects.charge(stripe_api.charge(name), refunds=refund_list.of_charge(name))
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
