import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import functools
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Loop",
            fields=[
                ("name", models.CharField(max_length=80, primary_key=True, serialize=False)),
                ("succeeded_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Incident",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("inc",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("investigating", "Investigating"),
                            ("identified", "Identified"),
                            ("monitoring", "Monitoring"),
                            ("resolved", "Resolved"),
                        ],
                        default="investigating",
                        max_length=13,
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "components",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=80), blank=True, default=list, size=None
                    ),
                ),
            ],
            options={
                "ordering": ("-started_at", "-id"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("resolved_at__isnull", False), ("status", "resolved")),
                            models.Q(models.Q(("status", "resolved"), _negated=True), ("resolved_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="incident_resolved_with_time",
                        violation_error_message="resolvedAt is set when, and only when, the status is resolved",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="IncidentUpdate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("investigating", "Investigating"),
                            ("identified", "Identified"),
                            ("monitoring", "Monitoring"),
                            ("resolved", "Resolved"),
                        ],
                        max_length=13,
                    ),
                ),
                ("text", models.TextField(blank=True, max_length=4000)),
                (
                    "incident",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="updates", to="status.incident"
                    ),
                ),
            ],
            options={
                "ordering": ("-at", "-id"),
            },
        ),
    ]
