"""Invoices and receipts as PDF. Typst makes them from billing/invoicing/invoice.typ."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import typst

from billing import sums
from billing.invoicing import issuing, parties
from billing.invoicing.words import FALLBACK, WORDS, words
from billing.models import Invoice, InvoiceKind, Payment

SHEET = Path(__file__).with_name("invoice.typ")
# Python packages with fonts for letters that Typst's own fonts do not have
FONTS = ("fontpkg_noto_sans_arabic", "noto_cjk_sans_otc")


def pdf(invoice: Invoice) -> bytes:
    """The PDF of an invoice. All its data is in the invoice's row."""
    said = words(invoice.lang)
    is_credit = invoice.kind == InvoiceKind.CREDIT_NOTE
    return _set(
        invoice.lang,
        title=said["credit_note" if is_credit else "invoice"],
        number=invoice.number,
        date=f"{invoice.created_at:%Y-%m-%d}",
        corrects=invoice.corrects.number if invoice.corrects else "",
        seller=invoice.seller,
        buyer=invoice.buyer,
        description=invoice.description,
        net=f"{invoice.total_usd - invoice.tax_usd:.2f} USD",
        tax=f"{invoice.tax_usd:.2f} USD",
        taxed=f"{invoice.tax_name or said['tax']} {invoice.tax_percent.normalize():f} %",
        total=f"{invoice.total_usd:.2f} USD",
        moved=said["sent_back" if is_credit else "paid_with"],
        paid_with=invoice.paid_with,
        note=said["reverse_charge"] if invoice.reverse_charge else "",
    )


def receipt(payment: Payment) -> bytes:
    """The PDF of a receipt, for any provider. It shows no taxes: only an invoice does."""
    lang = issuing.language(payment)
    seller, total = parties.seller(), sums.moved(payment)
    return _set(
        lang,
        title=words(lang)["receipt"],
        number=payment.pk,
        date=f"{payment.at:%Y-%m-%d}",
        corrects="",
        seller=seller.written() if seller else None,
        buyer=parties.buyer(payment.user).written(),
        description=issuing.description(payment),
        net=total,
        tax="",
        taxed="",
        total=total,
        moved=words(lang)["paid_with"],
        paid_with=payment.get_provider_display(),
        note=words(lang)["no_invoice"],
    )


def _set(lang: str, **data: str | Mapping[str, str] | None) -> bytes:
    """Run Typst. Texts are passed as data, so that nothing in them is read as markup."""
    told = {"lang": lang if lang in WORDS else FALLBACK, "words": words(lang), **data}
    return bytes(typst.compile(SHEET, sys_inputs={"invoice": json.dumps(told)}, font_paths=_fonts()))


@functools.cache
def _fonts() -> typst.Fonts:
    """The same fonts on every machine: system fonts are not used."""
    return typst.Fonts(include_system_fonts=False, font_paths=[Path(str(files(name))) for name in FONTS])
