from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0024_listed_index")]

    operations = [
        migrations.CreateModel(
            name="KeptLog",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "life",
                    models.CharField(
                        help_text="Of the pod's log; those of one agent sort by their time.", max_length=24
                    ),
                ),
                ("base", models.BigIntegerField(help_text="Offset of the first byte in the pod's log.")),
                ("size", models.PositiveIntegerField(help_text="Bytes, unpacked.")),
                (
                    "packed",
                    models.BinaryField(help_text="Whole lines as the gateway keeps them, masked, packed by zlib."),
                ),
                ("kept_at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="kept_logs", to="agents.agent"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("agent", "life"), name="kept_log_once")],
            },
        ),
        migrations.AddField(
            model_name="pod",
            name="logs_kept_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When the end of its log was last fetched, for the time after the pod.",
                null=True,
            ),
        ),
    ]
