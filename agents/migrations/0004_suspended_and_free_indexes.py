from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0003_quota_one_index")]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(condition=models.Q(("operation", "suspended")), fields=["user"], name="agent_suspended"),
        ),
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=models.Q(("paid", False), models.Q(("desired", "deleted"), _negated=True)),
                fields=["user"],
                name="agent_free",
            ),
        ),
    ]
