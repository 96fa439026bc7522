from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("billing", "0009_spans")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="cryptoorder",
            name="dropped_at",
            field=models.DateTimeField(
                blank=True, help_text="When what paid it was found to be gone from the chain.", null=True
            ),
        ),
        migrations.AddField(
            model_name="cryptoorder",
            name="recheck_at",
            field=models.DateTimeField(
                blank=True, help_text="When the chain is asked again whether what paid it is still there.", null=True
            ),
        ),
    ]
