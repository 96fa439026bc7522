from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0015_trials_index")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="llm_key_checked",
            field=models.BooleanField(
                db_default=True, default=True, help_text="Whether its provider took the key when it was installed."
            ),
        ),
    ]
