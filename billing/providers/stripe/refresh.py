"""Read the present state of an object from Stripe and update our rows.

The event's own content is ignored: it may be old.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from billing.models import StripeInvoice
from billing.providers.stripe import api, cards, charging, disputes, objects, returns
from billing.providers.stripe.errors import StripeUnreadable
from billing.providers.stripe.objects import InvoiceObject

# Per invoice and per charge: far more than normal.
MOST_RATES, MOST_PAGES = 10, 10


class StripeKind(StrEnum):
    CHECKOUT = "checkout"
    CARD = "card"
    INVOICE = "invoice"
    CHARGE = "charge"
    DISPUTE = "dispute"


def look(kind: StripeKind, name: str, *, now: datetime) -> None:
    """Read this object and update our rows. Raises StripeAway, StripeRefused, Unreadable, and Stray for operators."""
    LOOKS[kind](name, now)


def _checkout(name: str, now: datetime) -> None:
    told = objects.checkout(api.session(name))
    if told.subscription:
        _card(told.subscription, now)


def _card(name: str, now: datetime) -> None:
    """Read a subscription and its newest invoice, in case no event came about the invoice."""
    told = objects.card(api.subscription(name))
    if cards.note(told, now=now) is not None and told.latest_invoice:
        bill = _bill(told.latest_invoice)
        if bill.subscription == told.id:
            charging.take(bill, now=now)


def _invoice(name: str, now: datetime) -> None:
    bill = _bill(name)
    if not bill.subscription:
        return
    told = objects.card(api.subscription(bill.subscription))
    if cards.note(told, now=now) is not None:
        charging.take(bill, now=now)


def _bill(name: str) -> InvoiceObject:
    """The invoice with its tax rate, which is read separately."""
    bill = objects.bill(api.invoice(name))
    if not bill.tax or not 0 < len(bill.rates) <= MOST_RATES:
        return bill
    percents = (objects.percentage(api.tax_rate(rate)) for rate in bill.rates)
    return replace(bill, percent=sum(percents, Decimal(0)))


def _refunds(charge: str) -> list[api.Json]:
    """All refunds of a charge: only this list shows which of them failed later.

    Raises Unreadable if it does not end.
    """
    found: list[api.Json] = []
    for _ in range(MOST_PAGES):
        page, more = api.refunds(charge, after=str(found[-1].get("id") or "") if found else "")
        found += page
        if not more or not page:
            return found
    raise StripeUnreadable("the list of refunds has no end")


def _charge(name: str, now: datetime) -> None:
    told = objects.charge(api.charge(name), refunds=_refunds(name))
    if _is_counted(told.payment_intent, now):
        returns.note(told, now=now)


def _dispute(name: str, now: datetime) -> None:
    told = objects.dispute(api.dispute(name))
    if _is_counted(told.payment_intent, now):
        disputes.note(told, now=now)


def _is_counted(payment_intent: str, now: datetime) -> bool:
    """Whether the ledger has this payment. If it is not there yet, its invoice is read first."""
    if not payment_intent:
        return False
    counted = StripeInvoice.objects.filter(payment_intent=payment_intent, payment__isnull=False)
    if not counted.exists() and (name := api.invoice_of(payment_intent)):
        _invoice(name, now)
    return counted.exists()


LOOKS: dict[StripeKind, Callable[[str, datetime], None]] = {
    StripeKind.CHECKOUT: _checkout,
    StripeKind.CARD: _card,
    StripeKind.INVOICE: _invoice,
    StripeKind.CHARGE: _charge,
    StripeKind.DISPUTE: _dispute,
}
