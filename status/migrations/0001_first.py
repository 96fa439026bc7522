import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import functools
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="HealthSample",
            fields=[
                ("at", models.DateTimeField(primary_key=True, serialize=False)),
                (
                    "down",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=80), default=list, size=None
                    ),
                ),
                ("requests", models.PositiveBigIntegerField(default=0)),
                ("failed", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "verbose_name": "half minute",
            },
        ),
        migrations.CreateModel(
            name="Loop",
            fields=[
                ("name", models.CharField(max_length=80, primary_key=True, serialize=False)),
                ("succeeded_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Announcement",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("ann",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("title", models.CharField(help_text="In English. It is the subject of the mail too.", max_length=120)),
                (
                    "text",
                    models.TextField(
                        help_text="In English. Markdown: paragraphs, lists, links, *emphasis*. HTML is shown as text.",
                        max_length=8000,
                    ),
                ),
                (
                    "shown_from",
                    models.DateTimeField(
                        blank=True, help_text="The banner is shown from this time, in UTC.", null=True
                    ),
                ),
                (
                    "shown_until",
                    models.DateTimeField(
                        blank=True, help_text="And until this time. Both empty: no banner.", null=True
                    ),
                ),
                (
                    "on_status_page",
                    models.BooleanField(default=True, help_text="Show the banner on the public status page too."),
                ),
                (
                    "may_be_muted",
                    models.BooleanField(
                        default=True,
                        help_text="Its mail does not go to people who turned off news. Untick only for what people would lose money or data without.",
                        verbose_name="optional news",
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "permissions": (("mail_announcement", "Can mail announcements to people"),),
                "indexes": [models.Index(fields=["shown_until"], name="announcement_shown")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("shown_from__isnull", True), ("shown_until__isnull", True)),
                            ("shown_until__gt", models.F("shown_from")),
                            _connector="OR",
                        ),
                        name="announcement_shown_between",
                        violation_error_message="a banner needs both times, the second after the first",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyFact",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("name", models.CharField(max_length=40)),
                (
                    "key",
                    models.CharField(
                        blank=True, help_text="For example the engine, if there is one figure each.", max_length=80
                    ),
                ),
                ("value", models.DecimalField(decimal_places=2, max_digits=24)),
                ("measured_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("day", "name", "key"), name="daily_fact")],
            },
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
                (
                    "opened_for",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        editable=False,
                        help_text="The part for which it opened by itself.",
                        max_length=40,
                    ),
                ),
            ],
            options={
                "ordering": ("-started_at", "-id"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(models.Q(("opened_for", ""), _negated=True), ("resolved_at__isnull", True)),
                        fields=("opened_for",),
                        name="incident_one_open_for_each_part",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("resolved_at__isnull", False), ("status", "resolved")),
                            models.Q(models.Q(("status", "resolved"), _negated=True), ("resolved_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="incident_resolved_with_time",
                        violation_error_message="resolvedAt is set when, and only when, the status is resolved",
                    ),
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
                ("automatic", models.BooleanField(db_default=False, default=False, editable=False)),
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
        migrations.CreateModel(
            name="AnnouncementMail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                (
                    "announcement",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="mails", to="status.announcement"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("announcement", "user"), name="announcement_mailed_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="AnnouncementText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("lang", models.CharField(max_length=10, verbose_name="language")),
                ("title", models.CharField(max_length=120)),
                (
                    "text",
                    models.TextField(
                        help_text="Markdown: paragraphs, lists, links, *emphasis*. HTML is shown as text.",
                        max_length=8000,
                    ),
                ),
                (
                    "announcement",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="texts", to="status.announcement"
                    ),
                ),
            ],
            options={
                "verbose_name": "translation",
                "constraints": [
                    models.UniqueConstraint(fields=("announcement", "lang"), name="announcement_text_once")
                ],
            },
        ),
    ]
