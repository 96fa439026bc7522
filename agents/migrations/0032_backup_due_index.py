from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0031_backups")]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=Q(("backup_due_at__isnull", False)), fields=["backup_due_at"], name="agent_backup_due"
            ),
        ),
        # Agents of earlier releases have their first backup within a day, not all at once.
        migrations.RunSQL(
            "UPDATE agents_agent SET backup_due_at = now() + random() * interval '20 hours'"
            " WHERE was_running AND backup_due_at IS NULL AND NOT desired = 'deleted'",
            migrations.RunSQL.noop,
        ),
    ]
