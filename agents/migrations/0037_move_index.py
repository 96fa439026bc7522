from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0036_moves")]

    operations = [
        AddIndexConcurrently(
            model_name="placement",
            index=models.Index(condition=Q(("other__isnull", False)), fields=["other"], name="placement_other"),
        ),
    ]
