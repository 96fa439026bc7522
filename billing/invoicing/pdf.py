"""An invoice as PDF, set by Typst from billing/invoicing/invoice.typ. All that it says is in the invoice's row."""

from __future__ import annotations

import json
from pathlib import Path

import typst

from billing.invoicing.words import FALLBACK, WORDS, words
from billing.models import Invoice, InvoiceKind

SHEET = Path(__file__).with_name("invoice.typ")


def pdf(invoice: Invoice) -> bytes:
    """Texts go in as data: nothing that somebody wrote is read as markup."""
    said = words(invoice.lang)
    is_credit = invoice.kind == InvoiceKind.CREDIT_NOTE
    data = {
        "lang": invoice.lang if invoice.lang in WORDS else FALLBACK,
        "words": said,
        "title": said["credit_note" if is_credit else "invoice"],
        "number": invoice.number,
        "date": f"{invoice.created_at:%Y-%m-%d}",
        "corrects": invoice.corrects.number if invoice.corrects else "",
        "seller": invoice.seller,
        "buyer": invoice.buyer,
        "description": invoice.description,
        "net": f"{invoice.total_usd - invoice.tax_usd:.2f} USD",
        "tax": f"{invoice.tax_usd:.2f} USD",
        "taxed": f"{invoice.tax_name or said['tax']} {invoice.tax_percent.normalize():f} %",
        "total": f"{invoice.total_usd:.2f} USD",
        "moved": said["sent_back" if is_credit else "paid_with"],
        "paid_with": invoice.paid_with,
        "reverse_charge": invoice.reverse_charge,
    }
    made = typst.compile(SHEET, sys_inputs={"invoice": json.dumps(data)})
    return bytes(made)
