"""The request and response bodies of invoices and billing details."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from billing.models import BillingDetails, Invoice, InvoiceKind
from billing.models.invoices import ADDRESS, COUNTRY, NAME, TAX_ID
from catalog.serializers.catalog import Usd
from config.api import ModelSerializer, Serializer, Text, envelope
from config.numbers import QueryNumber
from config.paging import MAX_CURSOR, MAX_PAGE


class PartySerializer(Serializer):
    name = serializers.CharField()
    address = serializers.CharField(help_text="Its lines, with line breaks between them.")
    country = serializers.CharField(help_text="Two letters, or empty.")
    tax_id = serializers.CharField()
    email = serializers.CharField()


class InvoiceSerializer(ModelSerializer):
    kind = serializers.ChoiceField(InvoiceKind.choices)
    agent_id = serializers.CharField()
    payment_id = serializers.CharField(help_text="The payment that it is for, or the refund.")
    corrects_id = serializers.CharField(allow_null=True, help_text="Of a credit note the invoice that it corrects.")
    seller = PartySerializer()
    buyer = PartySerializer()
    total_usd = Usd(help_text="What was charged, or went back, with its tax.")
    tax_usd = Usd(help_text="The tax in it.")
    tax_percent = Usd()
    pdf_url = serializers.SerializerMethodField()

    class Meta:
        model = Invoice
        fields = (
            "id",
            "kind",
            "number",
            "agent_id",
            "payment_id",
            "corrects_id",
            "created_at",
            "seller",
            "buyer",
            "description",
            "paid_with",
            "total_usd",
            "tax_usd",
            "tax_name",
            "tax_percent",
            "reverse_charge",
            "pdf_url",
        )

    def get_pdf_url(self, row: Invoice) -> str:
        return f"{settings.BASE_URL}/invoices/{row.pk}/pdf"


InvoiceEnvelope = envelope("InvoiceEnvelope", invoice=InvoiceSerializer())
InvoicesEnvelope = envelope("InvoicesEnvelope", invoices=InvoiceSerializer(many=True))


class ListInvoicesSerializer(Serializer):
    agent_id = Text(required=False, max_length=40, help_text="Only this agent's.")
    limit = QueryNumber(required=False, min_value=1, max_value=MAX_PAGE)
    cursor = Text(required=False, max_length=MAX_CURSOR, help_text="From the `Link` header of the page before.")


class BillingDetailsSerializer(ModelSerializer):
    name = Text(max_length=NAME, allow_blank=True, required=False, help_text="Of the person or company.")
    address = Text(
        max_length=ADDRESS, allow_blank=True, required=False, help_text="Its lines, with line breaks between them."
    )
    country = Text(
        max_length=2, allow_blank=True, required=False, validators=[COUNTRY], help_text="Two capital letters: DE."
    )
    tax_id = Text(max_length=TAX_ID, allow_blank=True, required=False, help_text="Of a business: its VAT number, say.")

    class Meta:
        model = BillingDetails
        fields = ("name", "address", "country", "tax_id")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """All four fields are replaced; a field that is left out becomes empty."""
        return {name: attrs.get(name, "") for name in self.Meta.fields}


BillingDetailsEnvelope = envelope("BillingDetailsEnvelope", billing_details=BillingDetailsSerializer())
