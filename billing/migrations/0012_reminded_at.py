from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("billing", "0011_dropped_payments_indexes")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="subscription",
            name="reminded_at",
            field=models.DateTimeField(
                blank=True, help_text="When its owner was last told that it ends and nothing renews it.", null=True
            ),
        ),
    ]
