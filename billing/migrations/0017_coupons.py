from __future__ import annotations

from typing import ClassVar

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("billing", "0016_deferred_revenue"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Coupon",
            fields=[
                (
                    "code",
                    models.CharField(
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                        validators=[
                            django.core.validators.RegexValidator("^[A-Z0-9-]{3,40}$", "3 to 40 of A-Z, 0-9 and -")
                        ],
                    ),
                ),
                (
                    "percent",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="Taken off the price.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(99),
                        ],
                    ),
                ),
                (
                    "usd",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="Taken off the price, instead of a percentage.",
                        max_digits=8,
                        null=True,
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        help_text="For this plan alone.",
                        max_length=20,
                    ),
                ),
                (
                    "period",
                    models.CharField(
                        blank=True,
                        choices=[("monthly", "Monthly"), ("annual", "Annual")],
                        help_text="For this period alone.",
                        max_length=8,
                    ),
                ),
                ("valid_from", models.DateTimeField(blank=True, null=True)),
                ("valid_until", models.DateTimeField(blank=True, null=True)),
                (
                    "uses",
                    models.PositiveIntegerField(
                        blank=True, help_text="How often in all; empty: as often as wanted.", null=True
                    ),
                ),
                ("uses_of_account", models.PositiveIntegerField(default=1, help_text="How often each account.")),
                ("note", models.CharField(blank=True, help_text="What it is for; operators see it.", max_length=200)),
            ],
            options={
                "ordering": ("code",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("percent__isnull", False), ("usd__isnull", True)),
                            models.Q(("percent__isnull", True), ("usd__isnull", False)),
                            _connector="OR",
                        ),
                        name="coupon_one_of_two",
                        violation_error_message="Give a percentage or a sum in USD, one of them.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("percent__isnull", True), ("percent__range", (1, 99)), _connector="OR"),
                        name="coupon_percent",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("usd__isnull", True), ("usd__gt", 0), _connector="OR"),
                        name="coupon_usd",
                        violation_error_message="The sum must be more than nothing.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_from", None),
                            ("valid_until", None),
                            ("valid_until__gt", models.F("valid_from")),
                            _connector="OR",
                        ),
                        name="coupon_valid",
                        violation_error_message="It must end after it begins.",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="order",
            name="coupon",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="What the price is less by.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="orders",
                to="billing.coupon",
            ),
        ),
    ]
