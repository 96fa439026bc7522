from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0022_bridge_bytes")]

    operations = [
        migrations.AddField(
            model_name="pod",
            name="deployed",
            field=models.CharField(
                blank=True, help_text="Hash of the workload that was last found there whole.", max_length=40, null=True
            ),
        ),
        migrations.AddField(
            model_name="pod",
            name="deployed_at",
            field=models.DateTimeField(blank=True, help_text="When that was.", null=True),
        ),
    ]
