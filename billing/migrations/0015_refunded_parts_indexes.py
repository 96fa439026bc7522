from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies: ClassVar = [("billing", "0014_refunded_parts")]

    operations: ClassVar = [
        # If a first try failed, it left an invalid index. Remove it, so that the next try can build it.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS payment_refund_of", migrations.RunSQL.noop),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS subscription_card", migrations.RunSQL.noop),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS subscription_stop_card", migrations.RunSQL.noop),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS payment_at", migrations.RunSQL.noop),
        AddIndexConcurrently(model_name="payment", index=models.Index(fields=["at"], name="payment_at")),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("refund_of__isnull", False)), fields=["refund_of"], name="payment_refund_of"
            ),
        ),
        AddIndexConcurrently(
            model_name="subscription",
            index=models.Index(
                condition=models.Q(("card_ref", ""), _negated=True), fields=["card_ref"], name="subscription_card"
            ),
        ),
        AddIndexConcurrently(
            model_name="subscription",
            index=models.Index(
                condition=models.Q(("stop_card_at__isnull", False)),
                fields=["stop_card_at"],
                name="subscription_stop_card",
            ),
        ),
    ]
