"""Issue an invoice for each payment that bought something, and a credit note for each refund, in the same transaction.

Gumroad and Lemon Squeezy sell in their own name and write their own invoices, so their payments get none here.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db.models import QuerySet, Sum

from accounts import mail_choices
from billing import sums
from billing.invoicing import parties, taxes, words
from billing.invoicing.taxes import Tax
from billing.models import Invoice, InvoiceKind, InvoiceSeries, Payment
from billing.vocabulary import CONFIRMED, LICENSED, PaymentKind, Period, Provider
from catalog.tiers import tier_of

SERIES = {InvoiceKind.INVOICE: "", InvoiceKind.CREDIT_NOTE: "CN-"}
DIGITS = 6


def issue(payment: Payment, *, tax: Tax | None = None, now: datetime) -> Invoice | None:
    """The invoice or credit note of this row of the ledger. None if it needs none.

    `tax` is the tax as the provider computed it; without it our own rates apply. Call this after all other locks of the
    transaction: the next invoice waits for its number until this transaction ends.
    """
    if payment.refund_of_id is not None:
        again = payment.kind == PaymentKind.CAME_BACK and not payment.unapplied
        return (_anew if again else _credit)(payment, payment.refund_of_id, now=now)
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
        lang=language(payment),
        seller=seller.written(),
        buyer=buyer.written(),
        description=description(payment),
        paid_with=sums.moved(payment),
        total_usd=payment.price_usd,
        tax_usd=taxes.contained(payment.price_usd, tax.percent) if tax.usd is None else tax.usd,
        tax_name=tax.name,
        tax_percent=tax.percent,
        reverse_charge=tax.reverse_charge,
    )


def _credit(refund: Payment, payment_id: str, *, now: datetime) -> Invoice | None:
    """A credit note for a refund: the same share of the invoice and of its tax, together never more than the invoice.

    Stars that are only asked for get none yet: their provider's row comes later.
    """
    invoice = Invoice.objects.filter(payment=payment_id).select_related("payment").first()
    if invoice is None or refund.provider == Provider.INTERNAL:
        return None
    usd, tax = _more_gone(refund, invoice)
    if usd <= 0:
        return None
    issued = [*_reissued(invoice).order_by("-number"), invoice]
    corrects = next((one for one in issued if one.total_usd >= usd), invoice)
    return _write(InvoiceKind.CREDIT_NOTE, refund, invoice, usd=usd, tax=tax, corrects=corrects, now=now)


def _anew(row: Payment, payment_id: str, *, now: datetime) -> Invoice | None:
    """A new invoice, because money that a bank took came back. The credit note cannot be undone."""
    invoice = Invoice.objects.filter(payment=payment_id).select_related("payment").first()
    if invoice is None:
        return None
    usd, tax = _more_gone(row, invoice)
    if usd >= 0:
        return None
    return _write(InvoiceKind.INVOICE, row, invoice, usd=-usd, tax=-tax, corrects=None, now=now)


def _reissued(invoice: Invoice) -> QuerySet[Invoice]:
    return Invoice.objects.filter(kind=InvoiceKind.INVOICE, payment__refund_of=invoice.payment_id)


def _more_gone(row: Payment, invoice: Invoice) -> tuple[Decimal, Decimal]:
    """How much more of the invoice and its tax is refunded with this row than the credit notes show so far."""
    notes = Invoice.objects.filter(kind=InvoiceKind.CREDIT_NOTE, payment__refund_of=invoice.payment_id)
    sums_of = [rows.aggregate(usd=Sum("total_usd"), tax=Sum("tax_usd")) for rows in (notes, _reissued(invoice))]
    usd, tax = ((sums_of[0][name] or Decimal(0)) - (sums_of[1][name] or Decimal(0)) for name in ("usd", "tax"))
    gone = _gone_back(row, invoice)
    return gone - usd, sums.share(invoice.tax_usd, of=gone, in_all=invoice.total_usd) - tax


def _write(
    kind: InvoiceKind,
    row: Payment,
    invoice: Invoice,
    *,
    usd: Decimal,
    tax: Decimal,
    corrects: Invoice | None,
    now: datetime,
) -> Invoice:
    """Write an invoice or credit note with the seller, buyer, description and tax of the first invoice."""
    return Invoice.objects.create(
        kind=kind,
        number=_next(kind, now=now),
        payment=row,
        corrects=corrects,
        user_id=invoice.user_id,
        agent_id=invoice.agent_id,
        created_at=now,
        lang=invoice.lang,
        seller=invoice.seller,
        buyer=invoice.buyer,
        description=invoice.description,
        paid_with=sums.moved(row),
        total_usd=usd,
        tax_usd=tax,
        tax_name=invoice.tax_name,
        tax_percent=invoice.tax_percent,
        reverse_charge=invoice.reverse_charge,
    )


def _gone_back(refund: Payment, invoice: Invoice) -> Decimal:
    """The refunded part of the invoice in USD, with all earlier refunds, so that rounded parts add up to the whole.

    The overpaid part of a payment was never on its invoice.
    """
    asked = (invoice.payment.amount or Decimal(0)) - invoice.payment.over
    if asked <= 0 or refund.amount is None:
        return invoice.total_usd
    return sums.share(invoice.total_usd, of=min(invoice.payment.taken_off, asked), in_all=asked)


def _next(kind: InvoiceKind, *, now: datetime) -> str:
    """The next number of the year. The series row stays locked until the transaction ends, so there are no gaps."""
    name = f"{SERIES[kind]}{now:%Y}-"
    InvoiceSeries.objects.bulk_create([InvoiceSeries(name=name)], ignore_conflicts=True)
    series = InvoiceSeries.objects.select_for_update().get(pk=name)
    series.last += 1
    series.save(update_fields=["last"])
    return f"{name}{series.last:0{DIGITS}d}"


def language(payment: Payment) -> str:
    """The language that the payer chose, or else the agent's."""
    return mail_choices.language(payment.user, otherwise=payment.agent.lang)


def description(payment: Payment) -> str:
    """The plan and period that were bought. For a payment that bought nothing yet, only the agent."""
    if not payment.tier or not payment.period:
        return payment.agent_id
    period = words.period(language(payment), Period(payment.period))
    return f"{tier_of(payment.tier).name}, {period} ({payment.agent_id})"
