"""A table for what agents did, and the owner's switch of it. Nothing that is there changes."""

from __future__ import annotations

import config.crypto
import config.ids
import django.db.models.deletion
import functools
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0007_account_spending"),
    ]

    operations = [
        migrations.AddField(
            model_name="spending",
            name="is_replayed",
            field=models.BooleanField(
                db_default=True, default=True, help_text="Whether the pod records what the agent does."
            ),
        ),
        migrations.AddField(
            model_name="spending",
            name="replay_cleared",
            field=models.JSONField(
                db_default={},
                default=dict,
                help_text="When the replay was deleted, by conversation; without a name for all of them.",
            ),
        ),
        migrations.CreateModel(
            name="ReplayEntry",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("rpl",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("kind", models.CharField(max_length=20)),
                ("door", models.CharField(blank=True, max_length=20)),
                ("session", models.CharField(blank=True, max_length=128)),
                (
                    "turn",
                    models.CharField(
                        blank=True, help_text="The same for all that happened in one turn.", max_length=16
                    ),
                ),
                ("model", models.CharField(blank=True, help_text="<provider>:<model name>", max_length=240)),
                ("input", models.PositiveIntegerField(null=True)),
                ("cached", models.PositiveIntegerField(null=True)),
                ("output", models.PositiveIntegerField(null=True)),
                ("is_estimated", models.BooleanField(default=False)),
                ("usd", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("ms", models.PositiveIntegerField(null=True)),
                ("hop", models.CharField(blank=True, help_text="Who failed: gateway, engine or model.", max_length=20)),
                ("cause", models.CharField(blank=True, help_text="A word of `explain`.", max_length=20)),
                ("tool", models.CharField(blank=True, max_length=84)),
                (
                    "texts",
                    config.crypto.EncryptedJson(
                        help_text="The beginnings of `asked`, `answered`, `arguments` and `error`.", null=True
                    ),
                ),
                (
                    "count",
                    models.PositiveIntegerField(help_text="How many entries of this day were not kept.", null=True),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="replay",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["agent", "-created_at", "-id"], name="replay_list"),
                    models.Index(fields=["agent", "session", "-created_at", "-id"], name="replay_session"),
                    models.Index(fields=["created_at"], name="replay_age"),
                ],
            },
        ),
    ]
