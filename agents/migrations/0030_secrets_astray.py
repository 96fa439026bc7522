from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0029_domain_index")]

    operations = [
        migrations.AddField(
            model_name="pod",
            name="secrets",
            field=models.JSONField(
                blank=True, help_text="Identities of its Secrets as the driver was told; null: not known.", null=True
            ),
        ),
        migrations.AddField(
            model_name="pod",
            name="secrets_seen",
            field=models.JSONField(blank=True, help_text="Those that are there; null: not known.", null=True),
        ),
        migrations.AddField(
            model_name="pod",
            name="astray",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="What was found gone or changed and is not told yet.",
            ),
        ),
    ]
