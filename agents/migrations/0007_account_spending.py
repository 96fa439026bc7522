"""A table for the limits that an account has for all its agents together. Nothing that is there changes."""

from __future__ import annotations

from decimal import Decimal

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def _usd() -> models.DecimalField[Decimal | None, Decimal | None]:
    return models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_limited_keys"), ("agents", "0006_spending")]

    operations = [
        migrations.CreateModel(
            name="AccountSpending",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="spending",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("day_usd", _usd()),
                ("month_usd", _usd()),
                (
                    "is_stopped",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the owner has switched the model calls of all agents off.",
                    ),
                ),
                (
                    "told",
                    models.JSONField(
                        db_default={},
                        default=dict,
                        help_text="Which limits the owner was told about, and when.",
                    ),
                ),
            ],
        ),
    ]
