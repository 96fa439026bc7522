from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0009_clusters")]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=Q(("domain__isnull", False), ("domain_ready_at__isnull", True)) & ~Q(("desired", "deleted")),
                fields=["id"],
                name="agent_domain_new",
            ),
        ),
    ]
