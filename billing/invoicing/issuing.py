"""An invoice for each payment that bought something, and a credit note for what goes back: in the ledger's transaction.

Gumroad and Lemon Squeezy sell in their own name and write their own invoices, so what they took has none here.
"""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

from django.db.models import Sum

from billing.invoicing import parties, taxes, words
from billing.invoicing.taxes import CENT, Tax
from billing.models import Invoice, InvoiceKind, InvoiceSeries, Payment
from billing.sums import moved
from billing.vocabulary import CONFIRMED, LICENSED, Period, Provider
from catalog.tiers import tier_of

SERIES = {InvoiceKind.INVOICE: "", InvoiceKind.CREDIT_NOTE: "CN-"}
DIGITS = 6


def issue(payment: Payment, *, tax: Tax | None = None, now: datetime) -> Invoice | None:
    """The invoice of this row of the ledger, or its credit note; None where there is none to write.

    Its tax is by our own rates unless somebody who took the money has reckoned it.
    Called last of what a transaction locks: whoever is next waits for its number until this one is there.
    """
    if payment.refund_of_id is not None:
        return _credit(payment, payment.refund_of_id, now=now)
    if payment.kind not in CONFIRMED or payment.subscription_id is None or not payment.price_usd:
        return None
    seller = parties.seller()
    if seller is None or payment.provider in LICENSED or payment.provider == Provider.INTERNAL:
        return None
    buyer = parties.buyer(payment.user)
    tax = tax or taxes.tax_for(seller, buyer)
    return Invoice.objects.create(
        kind=InvoiceKind.INVOICE,
        number=_next(InvoiceKind.INVOICE, now=now),
        payment=payment,
        user_id=payment.user_id,
        agent=payment.agent,
        created_at=now,
        lang=payment.agent.lang,
        seller=seller.written(),
        buyer=buyer.written(),
        description=_description(payment),
        paid_with=moved(payment),
        total_usd=payment.price_usd,
        **_taxed(payment.price_usd, tax),
    )


def _credit(refund: Payment, payment_id: str, *, now: datetime) -> Invoice | None:
    """Of what went back, the same share of the invoice; together never more than there was.

    Stars that were only asked for have no row of their provider's yet.
    """
    invoice = Invoice.objects.filter(payment=payment_id).select_related("payment").first()
    if invoice is None or refund.provider == Provider.INTERNAL:
        return None
    before = invoice.credit_notes.aggregate(usd=Sum("total_usd"), tax=Sum("tax_usd"), sent=Sum("payment__amount"))
    credited = before["usd"] or Decimal(0)
    total = _share(refund, invoice, sent=before["sent"] or Decimal(0)) - credited
    if total <= 0:
        return None
    tax = Tax(name=invoice.tax_name, percent=invoice.tax_percent, reverse_charge=invoice.reverse_charge)
    return Invoice.objects.create(
        kind=InvoiceKind.CREDIT_NOTE,
        number=_next(InvoiceKind.CREDIT_NOTE, now=now),
        payment=refund,
        corrects=invoice,
        user_id=invoice.user_id,
        agent_id=invoice.agent_id,
        created_at=now,
        lang=invoice.lang,
        seller=invoice.seller,
        buyer=invoice.buyer,
        description=invoice.description,
        paid_with=moved(refund),
        total_usd=total,
        **_taxed(credited + total, tax, before=before["tax"] or Decimal(0)),
    )


def _share(refund: Payment, invoice: Invoice, *, sent: Decimal) -> Decimal:
    """Of the invoice, with all that was sent back before: so parts come out at the whole, however each is rounded.

    What was too much of a payment was never on its invoice.
    """
    asked = (invoice.payment.amount or Decimal(0)) - invoice.payment.over
    if asked <= 0 or refund.amount is None:
        return invoice.total_usd
    share = min((sent + refund.amount) / asked, Decimal(1))
    return (invoice.total_usd * share).quantize(CENT, ROUND_HALF_UP)


def _taxed(total: Decimal, tax: Tax, *, before: Decimal = Decimal(0)) -> dict[str, object]:
    """The tax in all of it, without what was on the notes before."""
    return {
        "tax_usd": taxes.contained(total, tax.percent) - before if tax.usd is None else tax.usd,
        "tax_name": tax.name,
        "tax_percent": tax.percent,
        "reverse_charge": tax.reverse_charge,
    }


def _next(kind: InvoiceKind, *, now: datetime) -> str:
    """The next number of the year, without gaps: the row is held until the transaction ends."""
    name = f"{SERIES[kind]}{now:%Y}-"
    InvoiceSeries.objects.bulk_create([InvoiceSeries(name=name)], ignore_conflicts=True)
    series = InvoiceSeries.objects.select_for_update().get(pk=name)
    series.last += 1
    series.save(update_fields=["last"])
    return f"{name}{series.last:0{DIGITS}d}"


def _description(payment: Payment) -> str:
    period = words.period(payment.agent.lang, Period(payment.period))
    return f"{tier_of(payment.tier).name}, {period} ({payment.agent_id})"
