from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("catalog", "0006_deployments"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="persona",
            index=models.Index(
                condition=models.Q(("reviewed_at__isnull", True), ("status", "published")),
                fields=["published_at"],
                name="persona_queue",
            ),
        ),
        AddIndexConcurrently(
            model_name="persona",
            index=models.Index(
                condition=models.Q(("deployments", models.F("deployed_count")), _negated=True),
                fields=["id"],
                name="persona_count_due",
            ),
        ),
    ]
