from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0025_kept_logs")]

    operations = [
        AddIndexConcurrently(
            model_name="pod",
            index=models.Index(
                F("logs_kept_at").asc(nulls_first=True), condition=Q(("gateway_alive", True)), name="pod_logs"
            ),
        ),
    ]
