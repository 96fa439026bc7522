"""Indexes for the long lists of the console. They are made without a lock, so the running release goes on meanwhile."""

import django.contrib.postgres.indexes
from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("agents", "0004_console_indexes"),
        ("billing", "0001_first"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="cryptoorder",
            index=models.Index(
                django.contrib.postgres.indexes.OpClass("tx_hash", "varchar_pattern_ops"), name="crypto_order_hash"
            ),
        ),
        AddIndexConcurrently(
            model_name="deposit",
            index=models.Index(fields=["-seen_at", "-id"], name="deposit_newest"),
        ),
        AddIndexConcurrently(
            model_name="deposit",
            index=models.Index(
                django.contrib.postgres.indexes.OpClass("tx_hash", "varchar_pattern_ops"), name="deposit_hash"
            ),
        ),
        AddIndexConcurrently(
            model_name="deposit",
            index=models.Index(
                django.contrib.postgres.indexes.OpClass("sender", "varchar_pattern_ops"), name="deposit_sender"
            ),
        ),
        AddIndexConcurrently(
            model_name="order",
            index=models.Index(fields=["-created_at", "-id"], name="order_newest"),
        ),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(
                django.contrib.postgres.indexes.OpClass("external_id", "varchar_pattern_ops"), name="payment_external"
            ),
        ),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("kind__in", ["payment", "renewal"]), _negated=True),
                fields=["kind", "-at", "-id"],
                name="payment_kind",
            ),
        ),
    ]
