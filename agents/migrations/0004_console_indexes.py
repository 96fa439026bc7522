"""Indexes for the long lists of the console. They are made without a lock, so the running release goes on meanwhile."""

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("agents", "0003_roles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(fields=["-created_at", "-id"], name="agent_newest"),
        ),
        AddIndexConcurrently(
            model_name="backup",
            index=models.Index(fields=["-asked_at", "-id"], name="backup_newest"),
        ),
        AddIndexConcurrently(
            model_name="backup",
            index=models.Index(
                condition=models.Q(("stage", "failed")), fields=["-asked_at", "-id"], name="backup_failed"
            ),
        ),
        AddIndexConcurrently(
            model_name="transition",
            index=models.Index(fields=["-at", "-id"], name="transition_newest"),
        ),
        AddIndexConcurrently(
            model_name="transition",
            index=models.Index(
                condition=models.Q(("to_status", "failed")), fields=["-at", "-id"], name="transition_failed"
            ),
        ),
    ]
