from typing import Any

from django.db import migrations, models


def count_what_is_shown(apps: Any, schema_editor: Any) -> None:
    apps.get_model("catalog", "Persona").objects.update(deployments=models.F("deployed_count"))


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0005_moderation"),
    ]

    operations = [
        # Processes of the version before still read the column: a later release drops it.
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField(model_name="catalogversion", name="counts_at")],
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE catalog_catalogversion ALTER COLUMN counts_at SET DEFAULT CURRENT_TIMESTAMP",
                    "ALTER TABLE catalog_catalogversion ALTER COLUMN counts_at DROP DEFAULT",
                )
            ],
        ),
        migrations.AddField(
            model_name="persona",
            name="deployments",
            field=models.PositiveIntegerField(
                default=0, db_default=0, editable=False, help_text="First runnings, as they happen."
            ),
        ),
        migrations.AlterField(
            model_name="persona",
            name="deployed_count",
            field=models.PositiveIntegerField(default=0, editable=False, help_text="As shown, once a minute."),
        ),
        migrations.RunPython(count_what_is_shown, migrations.RunPython.noop, elidable=True),
    ]
