from __future__ import annotations

import config.ids
import django.core.validators
import django.db.models.deletion
import functools
from django.conf import settings
from django.db import migrations, models

from billing.migrations._database import INVOICE_ALLOW, INVOICE_REFUSE


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_mail_server"),
        ("agents", "0021_trials_promised"),
        ("billing", "0012_reminded_at"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="BillingDetails",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="billing_details",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                ("address", models.CharField(blank=True, max_length=500)),
                ("country", models.CharField(blank=True, max_length=2)),
                ("tax_id", models.CharField(blank=True, max_length=40)),
            ],
            options={
                "verbose_name_plural": "billing details",
            },
        ),
        migrations.CreateModel(
            name="InvoiceSeries",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("last", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "verbose_name_plural": "invoice series",
            },
        ),
        migrations.CreateModel(
            name="TaxRate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "country",
                    models.CharField(
                        blank=True,
                        help_text="Empty: buyers of any other country.",
                        max_length=2,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[A-Z]{2}\\Z", "must be a country's two capital letters, such as DE"
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(help_text="As it stands on the invoice, such as VAT.", max_length=40)),
                (
                    "percent",
                    models.DecimalField(
                        decimal_places=4,
                        max_digits=7,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(100),
                        ],
                    ),
                ),
                (
                    "reverse_charge",
                    models.BooleanField(
                        default=False,
                        help_text="A business of this country, with a tax id, owes the tax itself: 0 % on its invoice.",
                    ),
                ),
            ],
            options={
                "ordering": ("country",),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("percent__range", (0, 100))), name="tax_rate_percent")
                ],
            },
        ),
        migrations.CreateModel(
            name="Invoice",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("inv",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "kind",
                    models.CharField(choices=[("invoice", "Invoice"), ("credit_note", "Credit Note")], max_length=11),
                ),
                ("number", models.CharField(max_length=60, unique=True)),
                ("created_at", models.DateTimeField()),
                ("lang", models.CharField(max_length=8)),
                ("seller", models.JSONField()),
                ("buyer", models.JSONField()),
                ("description", models.CharField(max_length=200)),
                ("paid_with", models.CharField(max_length=120)),
                ("total_usd", models.DecimalField(decimal_places=2, max_digits=10)),
                ("tax_usd", models.DecimalField(decimal_places=2, max_digits=10)),
                ("tax_name", models.CharField(blank=True, max_length=40)),
                ("tax_percent", models.DecimalField(decimal_places=4, max_digits=7)),
                ("reverse_charge", models.BooleanField(default=False)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invoices", to="agents.agent"
                    ),
                ),
                (
                    "corrects",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="credit_notes",
                        to="billing.invoice",
                    ),
                ),
                (
                    "payment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invoice", to="billing.payment"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="invoices",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(fields=["user", "-created_at", "-id"], name="invoice_user"),
                    models.Index(fields=["-created_at", "-id"], name="invoice_newest"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("total_usd__gt", 0)), name="invoice_total"),
                    models.CheckConstraint(
                        condition=models.Q(("tax_usd__gte", 0), ("tax_usd__lte", models.F("total_usd"))),
                        name="invoice_tax",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("corrects__isnull", True), ("kind", "invoice")),
                            models.Q(("corrects__isnull", False), ("kind", "credit_note")),
                            _connector="OR",
                        ),
                        name="invoice_corrects",
                    ),
                ],
            },
        ),
        migrations.RunSQL(INVOICE_REFUSE, INVOICE_ALLOW),
    ]
