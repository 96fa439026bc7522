from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0021_trials_promised")]

    operations = [
        migrations.AddField(
            model_name="pod",
            name="bridge_bytes",
            field=models.BigIntegerField(
                blank=True, help_text="Memory of its bridge, as that told when it came up; null: not known.", null=True
            ),
        ),
    ]
