from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0007_term_due")]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=Q(("term_due_at__isnull", False)),
                fields=["term_due_at"],
                name="agent_term_due",
            ),
        ),
    ]
