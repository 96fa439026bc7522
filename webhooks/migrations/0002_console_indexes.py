"""Indexes for the long lists of the console. They are made without a lock, so the running release goes on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("agents", "0004_console_indexes"),
        ("webhooks", "0001_first"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(fields=["-created_at", "-event"], name="delivery_newest"),
        ),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state__in", ["failed", "canceled"])),
                fields=["state", "-created_at", "-event"],
                name="delivery_unsent",
            ),
        ),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("error", ""), _negated=True),
                fields=["error", "-created_at", "-event"],
                name="delivery_error",
            ),
        ),
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(fields=["type", "-created_at", "-id"], name="event_type"),
        ),
    ]
