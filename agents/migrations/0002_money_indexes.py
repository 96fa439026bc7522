"""Indexes for two figures of operators. They are made without a lock, so the running release goes on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0001_first")]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=models.Q(("desired", "running"), ("status", "running")),
                fields=["entitled_until"],
                name="agent_end",
            ),
        ),
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=models.Q(("desired", "stopped"), ("paid", True)),
                fields=["status_since"],
                name="agent_paid_stopped",
            ),
        ),
    ]
