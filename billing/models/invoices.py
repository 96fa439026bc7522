"""Invoices and credit notes, billing details of buyers, and tax rates."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from agents.models import Agent
from billing.models.payments import Payment
from config.ids import new_id

NAME, ADDRESS, TAX_ID = 200, 500, 40
COUNTRY = RegexValidator(r"\A[A-Z]{2}\Z", "must be a country's two capital letters, such as DE")


class InvoiceKind(models.TextChoices):
    INVOICE = "invoice"
    CREDIT_NOTE = "credit_note"


class TaxRate(models.Model):
    """The tax that is contained in prices, for buyers of one country. Operators maintain the rates."""

    country = models.CharField(
        max_length=2, blank=True, unique=True, validators=[COUNTRY], help_text="Empty: buyers of any other country."
    )
    name = models.CharField(max_length=40, help_text="The tax's name on the invoice, such as VAT.")
    percent = models.DecimalField(
        max_digits=7, decimal_places=4, validators=[MinValueValidator(0), MaxValueValidator(100)]
    )
    reverse_charge = models.BooleanField(
        default=False,
        help_text="A business in this country that has a tax id pays the tax itself: its invoice has 0 %.",
    )

    class Meta:
        ordering = ("country",)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(percent__range=(0, 100)), name="tax_rate_percent"),
        ]

    def __str__(self) -> str:
        return f"{self.country or 'elsewhere'}: {self.name} {self.percent.normalize():f} %"


class BillingDetails(models.Model):
    """The buyer's details for an account's next invoices. Issued invoices keep their own."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="billing_details"
    )
    name = models.CharField(max_length=NAME, blank=True)
    address = models.CharField(max_length=ADDRESS, blank=True)
    country = models.CharField(max_length=2, blank=True)
    tax_id = models.CharField(max_length=TAX_ID, blank=True)

    class Meta:
        verbose_name_plural = "billing details"

    def __str__(self) -> str:
        return self.name or self.user_id


class InvoiceSeries(models.Model):
    """The last number of a series. The row is locked until the invoice is saved, so numbers have no gaps."""

    name = models.CharField(primary_key=True, max_length=40)
    last = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "invoice series"

    def __str__(self) -> str:
        return f"{self.name}{self.last}"


class Invoice(models.Model):
    """The invoice of a payment, or the credit note of a refund. PostgreSQL refuses to change or remove one.

    Seller and buyer are as they were when it was issued. Sums are in USD and include the tax; `paid_with` is the amount
    in the currency of the payment.
    """

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "inv"), editable=False)
    kind = models.CharField(max_length=11, choices=InvoiceKind.choices)
    number = models.CharField(max_length=60, unique=True)
    payment = models.OneToOneField(Payment, on_delete=models.PROTECT, related_name="invoice")
    corrects = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="credit_notes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="invoices")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="invoices")
    created_at = models.DateTimeField()
    lang = models.CharField(max_length=8)
    seller = models.JSONField()
    buyer = models.JSONField()
    description = models.CharField(max_length=200)
    paid_with = models.CharField(max_length=120)
    total_usd = models.DecimalField(max_digits=10, decimal_places=2)
    tax_usd = models.DecimalField(max_digits=10, decimal_places=2)
    tax_name = models.CharField(max_length=40, blank=True)
    tax_percent = models.DecimalField(max_digits=7, decimal_places=4)
    reverse_charge = models.BooleanField(default=False)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["user", "-created_at", "-id"], name="invoice_user"),
            models.Index(fields=["-created_at", "-id"], name="invoice_newest"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(total_usd__gt=0), name="invoice_total"),
            models.CheckConstraint(
                condition=Q(tax_usd__gte=0) & Q(tax_usd__lte=models.F("total_usd")), name="invoice_tax"
            ),
            models.CheckConstraint(
                condition=Q(kind=InvoiceKind.INVOICE, corrects__isnull=True)
                | Q(kind=InvoiceKind.CREDIT_NOTE, corrects__isnull=False),
                name="invoice_corrects",
            ),
        ]

    def __str__(self) -> str:
        return self.number
