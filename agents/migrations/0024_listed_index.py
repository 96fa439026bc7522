from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0023_pod_deployed")]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=Q(("a2a_enabled", True), ("a2a_listed", True), ("status", "running")),
                fields=["-created_at", "-id"],
                name="agent_listed",
            ),
        ),
    ]
