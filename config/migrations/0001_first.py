from django.db import migrations, models

from config.migrations._database import CHANGES_ALLOW, CHANGES_REFUSE


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="OperatorSetting",
            fields=[
                ("name", models.CharField(max_length=60, primary_key=True, serialize=False)),
                (
                    "value",
                    models.TextField(blank=True, help_text="As the environment variable of this name would have it."),
                ),
            ],
            options={
                "verbose_name": "setting",
            },
        ),
        migrations.CreateModel(
            name="SettingChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80)),
                ("before", models.TextField(null=True)),
                ("after", models.TextField(null=True)),
                ("actor", models.CharField(max_length=80)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "change of a setting",
                "verbose_name_plural": "changes of settings",
                "ordering": ("-at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="UsedPage",
            fields=[
                (
                    "id",
                    models.TextField(
                        editable=False,
                        help_text="The page's id, a colon and the row's id.",
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("forget_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.RunSQL(CHANGES_REFUSE, CHANGES_ALLOW),
    ]
