import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0026_pod_logs_index")]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector("name", config="simple"),
                condition=Q(("a2a_enabled", True), ("a2a_listed", True), ("status", "running")),
                name="agent_listed_name",
            ),
        ),
    ]
