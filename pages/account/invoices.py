"""/account/invoices: invoices and billing details."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponseBase
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts.authentication import caller
from billing.invoice_file import as_file
from billing.invoicing import parties, reading
from billing.serializers.invoices import BillingDetailsSerializer
from pages.account.base import AccountPageViewSet

PATH = "/account/invoices"
ON_A_PAGE = 20
FIELDS = {"name": "name", "address": "address", "country": "country", "taxId": "tax_id"}


class InvoicesPage(AccountPageViewSet):
    shown_in_look = True

    def retrieve(self, request: Request) -> HttpResponseBase:
        details = parties.details_of(caller(request))
        return self.shown({name: getattr(details, column) for name, column in FIELDS.items()})

    def create(self, request: Request) -> HttpResponseBase:
        """Save the billing details for the next invoices."""
        given = {name: self.typed(name).replace("\r\n", "\n").strip() for name in FIELDS}
        given["country"] = given["country"].upper()
        body = BillingDetailsSerializer(data=given)
        if not body.is_valid():
            return self.shown(given, problem=_problem(body.errors), status=400)
        parties.set_details(caller(request), **body.validated_data)
        return self.go(PATH)

    def shown(self, details: dict[str, str], *, problem: str = "", status: int = 200) -> HttpResponseBase:
        cursor = self.sent.GET.get("invoices")
        page = reading.page(caller(self.request), path=PATH, limit=ON_A_PAGE, cursor=cursor)
        context: dict[str, Any] = {
            "invoices": page.rows,
            "older": f"{PATH}?{urlencode({'invoices': page.cursor})}" if page.cursor else None,
            "paged": cursor is not None,
            "first": PATH,
            "details": details,
            "problem": problem,
        }
        return self.page("invoices.html", context, status=status)


class InvoiceFilePage(AccountPageViewSet):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return as_file(reading.own(caller(request), id))


def _problem(errors: Any) -> str:
    if "country" in errors:
        return gettext("A country is two letters, such as DE.")
    return gettext("One of these is too long.")
