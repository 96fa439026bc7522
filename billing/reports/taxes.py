"""Taxes by month, buyer's country and rate, from the invoices and credit notes of that month."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from django.db.models import Count, Q, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import TruncMonth

from billing.models import Invoice, InvoiceKind
from billing.reports.months import Months

NONE = Decimal(0)


@dataclass(frozen=True, slots=True, order=True)
class TaxLine:
    """Sums in USD.

    Credit notes are subtracted from the totals, and are also shown in `credited_usd`. Prices include tax.
    """

    month: datetime
    country: str
    name: str
    percent: Decimal
    reverse_charge: bool
    invoices: int
    credit_notes: int
    total_usd: Decimal
    tax_usd: Decimal
    credited_usd: Decimal
    credited_tax_usd: Decimal


def taxes(months: Months) -> list[TaxLine]:
    credited = Q(kind=InvoiceKind.CREDIT_NOTE)
    rows = (
        Invoice.objects.filter(created_at__gte=months.first, created_at__lt=months.after)
        .annotate(month=TruncMonth("created_at", tzinfo=UTC), country=KT("buyer__country"))
        .order_by()
        .values("month", "country", "tax_name", "tax_percent", "reverse_charge")
        .annotate(
            invoices=Count("pk", filter=~credited),
            credits=Count("pk", filter=credited),
            invoiced=Sum("total_usd", filter=~credited),
            invoiced_tax=Sum("tax_usd", filter=~credited),
            credited=Sum("total_usd", filter=credited),
            credited_tax=Sum("tax_usd", filter=credited),
        )
    )
    return sorted(
        TaxLine(
            month=row["month"],
            country=row["country"] or "",
            name=row["tax_name"],
            percent=row["tax_percent"],
            reverse_charge=row["reverse_charge"],
            invoices=row["invoices"],
            credit_notes=row["credits"],
            total_usd=(row["invoiced"] or NONE) - (row["credited"] or NONE),
            tax_usd=(row["invoiced_tax"] or NONE) - (row["credited_tax"] or NONE),
            credited_usd=row["credited"] or NONE,
            credited_tax_usd=row["credited_tax"] or NONE,
        )
        for row in rows
    )
