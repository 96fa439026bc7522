from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0017_drift")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="data_expected",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether it has data: then a pod that finds an empty disk fails with the cause DATA_LOST.",
            ),
        ),
    ]
