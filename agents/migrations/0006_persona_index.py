from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0005_forgotten_index")]

    operations = [
        AddIndexConcurrently(
            model_name="agent",
            index=models.Index(
                condition=Q(("desired", "deleted"), _negated=True),
                fields=["persona_id"],
                name="agent_persona",
            ),
        ),
    ]
