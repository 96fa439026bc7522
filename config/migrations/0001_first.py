import config.crypto
import config.ids
import django.contrib.postgres.indexes
import django.db.models.deletion
import functools
from django.conf import settings
from django.db import migrations, models

from config.migrations._database import AUDIT_ALLOW, AUDIT_REFUSE, CHANGES_ALLOW, CHANGES_REFUSE


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="OperatorSetting",
            fields=[
                ("name", models.CharField(max_length=60, primary_key=True, serialize=False)),
                (
                    "value",
                    models.TextField(blank=True, help_text="As the environment variable of this name would have it."),
                ),
                (
                    "sealed",
                    config.crypto.EncryptedText(
                        editable=False, help_text="The value of a credential, instead of `value`.", null=True
                    ),
                ),
            ],
            options={
                "verbose_name": "setting",
                "permissions": [("change_guarded", "Can change who gets the money and who needs a second factor")],
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
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("who", models.CharField(blank=True, help_text="Empty if nobody was signed in.", max_length=254)),
                ("who_id", models.CharField(blank=True, max_length=40, verbose_name="user id")),
                ("address", models.CharField(blank=True, max_length=64)),
                ("verb", models.CharField(max_length=120, verbose_name="what")),
                ("kind", models.CharField(blank=True, max_length=80, verbose_name="kind of object")),
                ("object_id", models.CharField(blank=True, max_length=255)),
                ("label", models.CharField(blank=True, max_length=200, verbose_name="object")),
                ("reason", models.TextField(blank=True)),
                (
                    "changes",
                    models.JSONField(
                        default=list, help_text="Lists of three texts: the field's name, the old and new value."
                    ),
                ),
            ],
            options={
                "verbose_name": "audit log entry",
                "verbose_name_plural": "audit log",
                "ordering": ("-at", "-id"),
                "indexes": [
                    models.Index(fields=["-at", "-id"], name="audit_newest"),
                    models.Index(fields=["verb", "-at", "-id"], name="audit_verb"),
                    models.Index(fields=["who", "-at"], name="audit_who"),
                    models.Index(fields=["who_id", "-at"], name="audit_who_id"),
                    models.Index(fields=["address", "-at"], name="audit_address"),
                    models.Index(fields=["object_id", "-at"], name="audit_object_id"),
                    models.Index(
                        django.contrib.postgres.indexes.OpClass("label", "varchar_pattern_ops"), name="audit_label"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("job",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "kind",
                    models.CharField(help_text="The list and the step: agents.agent.pause_agents.", max_length=120),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("draft", "Draft"), ("running", "Running"), ("stopped", "Stopped"), ("done", "Done")],
                        default="draft",
                        max_length=7,
                    ),
                ),
                ("chosen", models.CharField(blank=True, help_text="How the rows were chosen.", max_length=500)),
                ("reason", models.CharField(blank=True, max_length=500)),
                (
                    "fields",
                    models.JSONField(
                        default=dict, help_text="What the operator typed: lists of texts by the field's name."
                    ),
                ),
                ("total", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("skipped", models.PositiveIntegerField(default=0)),
                (
                    "pace",
                    models.PositiveIntegerField(
                        help_text="At most so many rows are begun in a minute.", verbose_name="rows per minute"
                    ),
                ),
                ("note", models.CharField(blank=True, help_text="Why it stopped by itself.", max_length=500)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField(help_text="When its state last changed.")),
                ("next_at", models.DateTimeField(help_text="When its next row may begin.")),
                (
                    "by",
                    models.ForeignKey(
                        help_text="Who last started it.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(fields=["-created_at", "-id"], name="job_newest"),
                    models.Index(condition=models.Q(("state", "running")), fields=["next_at"], name="job_due"),
                ],
            },
        ),
        migrations.CreateModel(
            name="JobRow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("object_id", models.CharField(max_length=255)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("skipped", "Skipped"),
                        ],
                        default="pending",
                        max_length=7,
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0, help_text="How often a worker began it.")),
                ("message", models.CharField(blank=True, max_length=500)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rows", to="config.job"
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "indexes": [models.Index(fields=["job", "state", "id"], name="job_row_state")],
                "constraints": [models.UniqueConstraint(fields=("job", "object_id"), name="job_row_once")],
            },
        ),
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("flt",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "listed",
                    models.CharField(help_text="The list's model: agents.agent.", max_length=120, verbose_name="list"),
                ),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(blank=True, max_length=2000)),
                (
                    "moving",
                    models.JSONField(
                        default=dict,
                        help_text="Ranges of dates that follow the clock, by column: at is “Last 24 hours”.",
                    ),
                ),
                ("is_shared", models.BooleanField(default=False, verbose_name="shared with colleagues")),
                ("created_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ("name", "id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_shared", True)), fields=["listed", "name"], name="saved_filter_shared"
                    )
                ],
                "constraints": [models.UniqueConstraint(fields=("owner", "listed", "name"), name="saved_filter_name")],
            },
        ),
        migrations.RunSQL(CHANGES_REFUSE, CHANGES_ALLOW),
        migrations.RunSQL(AUDIT_REFUSE, AUDIT_ALLOW),
    ]
