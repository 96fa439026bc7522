from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0014_trials")]

    operations = [
        # If a first try failed, it left an invalid index. Remove it, so that the next try can build it.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS agent_trials", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="agent", index=models.Index(fields=["inbox", "created_at"], name="agent_trials")
        ),
    ]
