from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies: ClassVar = [("billing", "0010_dropped_payments")]

    operations: ClassVar = [
        # If a first try failed, it left an invalid index. Remove it, so that the next try can build it.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS crypto_order_recheck", migrations.RunSQL.noop),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS crypto_order_dropped", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="cryptoorder",
            index=models.Index(
                condition=models.Q(("recheck_at__isnull", False)), fields=["recheck_at"], name="crypto_order_recheck"
            ),
        ),
        AddIndexConcurrently(
            model_name="cryptoorder",
            index=models.Index(
                condition=models.Q(("dropped_at__isnull", False)), fields=["dropped_at"], name="crypto_order_dropped"
            ),
        ),
    ]
