from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0037_move_index")]

    operations = [
        AddIndexConcurrently(
            model_name="backup",
            index=models.Index(condition=Q(("stage", "wanted")), fields=["asked_at", "id"], name="backup_waiting"),
        ),
        AddIndexConcurrently(
            model_name="backup",
            index=models.Index(condition=Q(("stage", "running")), fields=["taken_at"], name="backup_running"),
        ),
        migrations.AlterField(
            model_name="backup",
            name="look_at",
            field=models.DateTimeField(
                blank=True, help_text="When its next step is due; null: it waits, or is over.", null=True
            ),
        ),
        # Those that wait are looked at no more: they are given places.
        migrations.RunSQL(
            "UPDATE agents_backup SET look_at = NULL WHERE stage = 'wanted'",
            "UPDATE agents_backup SET look_at = now() WHERE stage = 'wanted'",
        ),
    ]
