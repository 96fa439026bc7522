"""The HTTP response with an invoice as a PDF file."""

from __future__ import annotations

from django.http import HttpResponse

from billing.invoicing.pdf import pdf
from billing.models import Invoice


def as_file(invoice: Invoice) -> HttpResponse:
    headers = {
        "Content-Disposition": f'attachment; filename="{invoice.number}.pdf"',
        "Cache-Control": "private, no-store",
    }
    return HttpResponse(pdf(invoice), content_type="application/pdf", headers=headers)
