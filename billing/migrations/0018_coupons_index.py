from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies: ClassVar = [("billing", "0017_coupons")]

    operations: ClassVar = [
        # If a first try failed, it left an invalid index. Remove it, so that the next try can build it.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS order_coupon", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="order",
            index=models.Index(
                condition=models.Q(("coupon__isnull", False)), fields=["coupon", "user"], name="order_coupon"
            ),
        ),
    ]
