from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("billing", "0015_refunded_parts_indexes"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="DeferredRevenue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("ended_at", models.DateTimeField(help_text="The first moment of the next month, UTC.")),
                (
                    "provider",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("gumroad", "Gumroad"),
                            ("lemonsqueezy", "Lemonsqueezy"),
                            ("usdt", "Usdt"),
                            ("usdc", "Usdc"),
                            ("stars", "Stars"),
                            ("stripe", "Stripe"),
                            ("internal", "Internal"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                    ),
                ),
                (
                    "period",
                    models.CharField(blank=True, choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8),
                ),
                ("currency", models.CharField(blank=True, max_length=12)),
                ("usd", models.DecimalField(decimal_places=2, max_digits=14)),
            ],
            options={
                "verbose_name_plural": "deferred revenue",
                "ordering": ("-ended_at", "provider", "tier", "period", "currency"),
            },
        ),
        migrations.CreateModel(
            name="Reports",
            fields=[],
            options={
                "verbose_name": "reports",
                "verbose_name_plural": "reports",
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("billing.payment",),
        ),
        migrations.AddConstraint(
            model_name="deferredrevenue",
            constraint=models.UniqueConstraint(
                fields=("ended_at", "provider", "tier", "period", "currency"), name="deferred_revenue_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="deferredrevenue",
            constraint=models.CheckConstraint(condition=models.Q(("usd__gte", 0)), name="deferred_revenue_usd"),
        ),
    ]
