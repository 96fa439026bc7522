"""An index for the service levels. It is made without a lock, so the running release goes on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0004_console_indexes")]

    operations = [
        AddIndexConcurrently(
            model_name="transition",
            index=models.Index(
                condition=models.Q(("to_status", "provisioning")), fields=["at"], name="transition_start"
            ),
        ),
    ]
