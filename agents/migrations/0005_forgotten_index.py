from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0004_suspended_and_free_indexes")]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=(
                    Q(
                        ("status", "provisioning"),
                        Q(
                            Q(("desired", models.F("status")), _negated=True),
                            Q(("desired", "running"), ("status", "failed"), _negated=True),
                        ),
                        _connector="OR",
                    )
                    & Q(reconcile_at__isnull=True)
                ),
                fields=["id"],
                name="agent_forgotten",
            ),
        ),
    ]
