"""The admin pages of invoices, credit notes and their PDFs, and of the tax rates that operators maintain."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from billing.admin import totals
from billing.invoice_file import as_file
from billing.models import BillingDetails, Invoice, InvoiceSeries, TaxRate
from config.admin_steps import DeleteRows, WithSteps
from config.long_lists import WhenFilter
from config.read_only import WrittenByRules


@admin.register(Invoice)
class InvoiceAdmin(WrittenByRules):
    totals = totals.INVOICES
    list_display = ("number", "kind", "created_at", "user", "agent", "total_usd", "tax_usd", "paid_with", "file")
    list_filter = ("kind", ("created_at", WhenFilter), "reverse_charge")
    list_select_related = ("user", "agent")
    search_fields = ("^number", "user__email", "agent__id", "^payment__external_id")
    search_help_text = "Number, owner's e-mail, agent id, or the provider's id of the payment"
    sortable_by = ("created_at",)

    def get_urls(self) -> list[URLPattern]:
        own = path("<str:id>/pdf", self.admin_site.admin_view(self.pdf_view), name="billing_invoice_pdf")
        return [own, *super().get_urls()]

    def pdf_view(self, request: HttpRequest, id: str) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        invoice = Invoice.objects.select_related("corrects").filter(pk=id).first()
        if invoice is None:
            raise Http404
        return as_file(invoice)

    @admin.display(description="PDF")
    def file(self, row: Invoice) -> str:
        return format_html('<a href="{}">PDF</a>', reverse("admin:billing_invoice_pdf", args=[row.pk]))


class DeleteTaxRates(DeleteRows):
    title = "Delete tax rates"
    model = TaxRate
    warnings = (
        *DeleteRows.warnings,
        "Invoices that exist keep their tax. New invoices for this country use the rate of “everywhere else”.",
    )

    def shown(self, row: Any) -> dict[str, str]:
        return {"country": row.country or "everywhere else", "tax": row.name, "percent": str(row.percent)}


@admin.register(TaxRate)
class TaxRateAdmin(WithSteps):
    steps = (DeleteTaxRates(),)
    list_display = ("country", "name", "percent", "reverse_charge")


@admin.register(BillingDetails)
class BillingDetailsAdmin(WrittenByRules):
    list_display = ("user", "name", "country", "tax_id")
    list_select_related = ("user",)
    search_fields = ("user__email", "name", "tax_id")


@admin.register(InvoiceSeries)
class InvoiceSeriesAdmin(WrittenByRules):
    list_display = ("name", "last")
