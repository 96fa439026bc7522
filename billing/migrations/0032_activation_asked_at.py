"""The time of a claim for an activation moves from the end of `instance` to a column."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

COPY = """
    UPDATE billing_subscription SET
        activation_asked_at = substr(instance, length('unconfirmed ') + 1)::timestamptz, instance = 'unconfirmed'
    WHERE instance LIKE 'unconfirmed %'
"""
BACK = """
    UPDATE billing_subscription SET
        instance = to_char(
            activation_asked_at AT TIME ZONE 'UTC', '"unconfirmed "YYYY-MM-DD"T"HH24:MI:SS"+00:00"'
        )
    WHERE instance = 'unconfirmed' AND activation_asked_at IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("billing", "0031_invoices_forget")]

    operations: ClassVar = [
        migrations.AddField(
            "subscription",
            "activation_asked_at",
            models.DateTimeField(
                blank=True, null=True, help_text="Since when its provider is being asked for an activation."
            ),
        ),
        migrations.RunSQL(COPY, BACK),
    ]
