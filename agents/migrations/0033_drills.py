import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0032_backup_due_index")]

    operations = [
        migrations.AddField(
            model_name="backup",
            name="broken",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="How many databases were locked or damaged when it was made.",
            ),
        ),
        migrations.AlterField(
            model_name="backup",
            name="kind",
            field=models.CharField(
                choices=[
                    ("asked", "Asked"),
                    ("nightly", "Nightly"),
                    ("rebuild", "Rebuild"),
                    ("stop", "Stop"),
                    ("final", "Final"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddField(
            model_name="repository",
            name="drill_due_at",
            field=models.DateTimeField(blank=True, db_default=django.db.models.functions.datetime.Now(), null=True),
        ),
        migrations.AddField(
            model_name="repository",
            name="drill_failure",
            field=models.TextField(blank=True, db_default="", help_text="Why the last drill failed."),
        ),
        migrations.AddField(
            model_name="repository",
            name="drill_said",
            field=models.TextField(blank=True, db_default="", help_text="What was found to be as it should."),
        ),
        migrations.AddField(
            model_name="repository",
            name="drilled_at",
            field=models.DateTimeField(blank=True, help_text="When its last drill was over.", null=True),
        ),
        migrations.AddField(
            model_name="repository",
            name="drilled_backup",
            field=models.CharField(blank=True, db_default="", help_text="Which backup that was.", max_length=60),
        ),
    ]
