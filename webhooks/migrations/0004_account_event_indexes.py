"""Indexes of the account's event log. They are made without a lock, so the running release goes on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0003_account_events")]

    operations = [
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                condition=models.Q(("place__isnull", False)), fields=["account", "place"], name="event_place"
            ),
        ),
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(condition=models.Q(("place__isnull", True)), fields=["agent"], name="event_unplaced"),
        ),
    ]
