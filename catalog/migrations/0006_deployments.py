from django.db import migrations, models


def count_what_is_shown(apps, schema_editor):
    apps.get_model("catalog", "Persona").objects.update(deployments=models.F("deployed_count"))


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0005_moderation"),
    ]

    operations = [
        migrations.RemoveField(
            model_name="catalogversion",
            name="counts_at",
        ),
        migrations.AddField(
            model_name="persona",
            name="deployments",
            field=models.PositiveIntegerField(default=0, editable=False, help_text="First runnings, as they happen."),
        ),
        migrations.AlterField(
            model_name="persona",
            name="deployed_count",
            field=models.PositiveIntegerField(default=0, editable=False, help_text="As shown, once a minute."),
        ),
        migrations.RunPython(count_what_is_shown, migrations.RunPython.noop, elidable=True),
        migrations.AddIndex(
            model_name="persona",
            index=models.Index(
                condition=models.Q(("deployments", models.F("deployed_count")), _negated=True),
                fields=["id"],
                name="persona_count_due",
            ),
        ),
    ]
