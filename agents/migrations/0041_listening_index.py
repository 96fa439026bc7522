from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

LISTENING = Q(status="running", desired="running", llm_key_hash__isnull=False) & ~Q(channels__contained_by=["web"])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0040_channel_states")]

    operations = [
        AddIndexConcurrently(
            model_name="agent", index=models.Index(condition=LISTENING, fields=["id"], name="agent_listening")
        ),
    ]
