from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0033_drills")]

    operations = [
        AddIndexConcurrently(
            model_name="repository",
            index=models.Index(
                condition=Q(("drill_due_at__isnull", False)), fields=["drill_due_at"], name="repository_drill_due"
            ),
        ),
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=Q(("desired", "running"), ("status", "running")),
                fields=["last_backup_at"],
                name="agent_backup_age",
            ),
        ),
        # Repositories of earlier releases have their first drill within a week, not all at once.
        migrations.RunSQL(
            "UPDATE agents_repository SET drill_due_at ="
            " CASE WHEN expires_at IS NULL THEN now() + random() * interval '7 days' END",
            migrations.RunSQL.noop,
        ),
    ]
