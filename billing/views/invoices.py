"""`/invoices` and `/billing-details`."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller
from billing.invoice_file import as_file
from billing.invoicing import parties, reading
from billing.models import Invoice
from billing.ownership import agent_named
from billing.serializers.invoices import (
    BillingDetailsEnvelope,
    BillingDetailsSerializer,
    InvoiceEnvelope,
    InvoicesEnvelope,
    InvoiceSerializer,
    ListInvoicesSerializer,
)
from config.api import ApiViewSet


class InvoicesViewSet(ApiViewSet):
    queryset = Invoice.objects.none()  # the type of {id} for the OpenAPI document
    serializer_class = InvoiceSerializer
    refusals = {"list": {400, 404}}

    @extend_schema(parameters=[ListInvoicesSerializer], responses=InvoicesEnvelope)
    def list(self, request: Request) -> Response:
        """List your invoices and credit notes, newest first.

        One for each payment that this service took itself, and one for what went back. Gumroad and Lemon Squeezy sell
        in their own name: theirs are with them. All up to 1,000; beyond that the next page is in `Link`.
        """
        query = ListInvoicesSerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        asked: dict[str, Any] = dict(query.validated_data)
        user, agent_id = caller(request), asked.pop("agent_id", None)
        agent = agent_named(user, agent_id) if agent_id is not None else None
        page = reading.page(user, path="/invoices", agent=agent, **asked)
        return Response({"invoices": InvoiceSerializer(page.rows, many=True).data}, headers=page.headers)

    @extend_schema(responses=InvoiceEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Read one invoice or credit note. It never changes."""
        return Response(InvoiceEnvelope({"invoice": reading.own(caller(request), id)}).data)


class InvoicePdfViewSet(ApiViewSet):
    queryset = Invoice.objects.none()

    @extend_schema(responses={(200, "application/pdf"): OpenApiTypes.BINARY})
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """Read one invoice or credit note as PDF, in the language of its agent."""
        return as_file(reading.own(caller(request), id))


class BillingDetailsViewSet(ApiViewSet):
    serializer_class = BillingDetailsSerializer

    @extend_schema(responses=BillingDetailsEnvelope)
    def retrieve(self, request: Request) -> Response:
        """Read what stands on your invoices from now on; empty where you have said nothing."""
        return _shown(parties.details_of(caller(request)))

    @extend_schema(request=BillingDetailsSerializer, responses=BillingDetailsEnvelope)
    def update(self, request: Request) -> Response:
        """Say what stands on your invoices from now on. What is issued keeps what it has."""
        return _shown(parties.set_details(caller(request), **self.valid(request)))


def _shown(details: Any) -> Response:
    return Response(BillingDetailsEnvelope({"billing_details": details}).data)
