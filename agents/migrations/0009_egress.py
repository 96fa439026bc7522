"""Tables for the rules of the egress broker and for its log of hosts. Nothing that is there changes."""

from __future__ import annotations

import config.crypto
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0008_replay"),
    ]

    operations = [
        migrations.CreateModel(
            name="Egress",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="egress",
                        serialize=False,
                        to="agents.agent",
                    ),
                ),
                (
                    "is_limited",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the engine may ask the hosts of the list alone.",
                    ),
                ),
                (
                    "hosts",
                    models.JSONField(db_default=[], default=list, help_text="The list: names, also as *.example.com."),
                ),
                (
                    "secrets",
                    config.crypto.EncryptedJson(
                        default=list,
                        help_text="Each with name, hosts, header, prefix, value and set_at; encrypted as one text.",
                    ),
                ),
                (
                    "is_walled",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the pod has told that its engine is walled in.",
                    ),
                ),
                (
                    "book",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="Of the gateway's log.", max_length=40
                    ),
                ),
                (
                    "number",
                    models.PositiveIntegerField(db_default=0, default=0, help_text="Of the last batch that was added."),
                ),
            ],
        ),
        migrations.CreateModel(
            name="EgressHost",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                (
                    "host",
                    models.CharField(
                        help_text="Name and port, or * for those beyond the limit of a day.", max_length=260
                    ),
                ),
                ("is_refused", models.BooleanField(default=False)),
                ("count", models.BigIntegerField(default=0)),
                ("sent", models.BigIntegerField(default=0, help_text="Bytes from the engine.")),
                ("received", models.BigIntegerField(default=0, help_text="Bytes from the host.")),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="egress_hosts",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["day"], name="egress_host_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "day", "host", "is_refused"), name="egress_host_once")
                ],
            },
        ),
    ]
