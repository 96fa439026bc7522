"""An index for the newest mails of a person. It is made without a lock, so the running release goes on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0003_helping")]

    operations = [
        AddIndexConcurrently(
            model_name="letter",
            index=models.Index(fields=["user", "-written_at", "-id"], name="letter_newest"),
        ),
    ]
