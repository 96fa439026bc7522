import config.crypto
import config.ids
import django.db.models.deletion
import functools
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0001_first"),
    ]

    operations = [
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("evt",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("agent.running", "Agent Running"),
                            ("agent.stopped", "Agent Stopped"),
                            ("agent.failed", "Agent Failed"),
                            ("agent.deleted", "Agent Deleted"),
                            ("payment.confirmed", "Payment Confirmed"),
                            ("deletion.warning", "Deletion Warning"),
                            ("test", "Test"),
                        ],
                        max_length=20,
                    ),
                ),
                ("body", models.TextField(help_text="The exact text that is signed and sent.")),
                ("created_at", models.DateTimeField()),
                ("account", models.CharField(blank=True, db_default="", default="", max_length=40)),
                ("place", models.BigIntegerField(blank=True, null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["agent", "created_at", "id"], name="event_log"),
                    models.Index(fields=["created_at"], name="event_age"),
                    models.Index(fields=["type", "-created_at", "-id"], name="event_type"),
                    models.Index(
                        condition=models.Q(("place__isnull", False)), fields=["account", "place"], name="event_place"
                    ),
                    models.Index(condition=models.Q(("place__isnull", True)), fields=["agent"], name="event_unplaced"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Hook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("url", models.TextField()),
                (
                    "authority",
                    models.CharField(
                        help_text="Host and port. The number of simultaneous deliveries is limited per host.",
                        max_length=262,
                    ),
                ),
                ("secret", config.crypto.EncryptedText()),
                (
                    "previous_secret",
                    config.crypto.EncryptedText(
                        blank=True, help_text="It signs together with the new one for 24 hours.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("rotated_at", models.DateTimeField(blank=True, null=True)),
                ("last_status", models.CharField(blank=True, max_length=40, null=True)),
                ("last_at", models.DateTimeField(blank=True, null=True)),
                ("last_event", models.CharField(blank=True, max_length=20, null=True)),
                (
                    "slow",
                    models.BooleanField(
                        default=False,
                        help_text="The last attempt timed out. Slow receivers share a few places in the sender.",
                    ),
                ),
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="hook", to="agents.agent"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "event",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="delivery",
                        serialize=False,
                        to="webhooks.event",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("delivered", "Delivered"),
                            ("failed", "Failed"),
                            ("canceled", "Canceled"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("is_test", models.BooleanField(default=False)),
                ("attempts", models.PositiveSmallIntegerField(default=0, help_text="Attempts that have an outcome.")),
                ("claims", models.PositiveSmallIntegerField(default=0, help_text="How many times a sender took it.")),
                ("next_attempt_at", models.DateTimeField()),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("lease_token", models.CharField(blank=True, max_length=32)),
                ("http_status", models.PositiveSmallIntegerField(blank=True, null=True)),
                (
                    "error",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("timeout", "Timeout"),
                            ("dns", "Dns"),
                            ("connect", "Connect"),
                            ("tls", "Tls"),
                            ("address refused", "Address Refused"),
                            ("protocol", "Protocol"),
                            ("internal", "Internal"),
                            ("canceled", "Canceled"),
                        ],
                        max_length=20,
                    ),
                ),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "resent_by",
                    models.CharField(
                        blank=True, help_text="The operator or owner who last asked to send it again.", max_length=80
                    ),
                ),
                ("resent_at", models.DateTimeField(blank=True, null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "indexes": [
                    models.Index(
                        models.F("agent"),
                        models.OrderBy(models.F("is_test"), descending=True),
                        models.F("next_attempt_at"),
                        condition=models.Q(("state", "pending")),
                        name="delivery_next",
                    ),
                    models.Index(
                        condition=models.Q(("lease_until", None), ("state", "pending")),
                        fields=["next_attempt_at"],
                        name="delivery_due",
                    ),
                    models.Index(
                        condition=models.Q(("lease_until__isnull", False), ("state", "pending")),
                        fields=["lease_until"],
                        name="delivery_leased",
                    ),
                    models.Index(fields=["agent", "-created_at", "-event"], name="delivery_log"),
                    models.Index(
                        condition=models.Q(("finished_at__isnull", False)),
                        fields=["finished_at"],
                        name="delivery_ended",
                    ),
                    models.Index(fields=["-created_at", "-event"], name="delivery_newest"),
                    models.Index(
                        condition=models.Q(("state__in", ["failed", "canceled"])),
                        fields=["state", "-created_at", "-event"],
                        name="delivery_unsent",
                    ),
                    models.Index(
                        condition=models.Q(("error", ""), _negated=True),
                        fields=["error", "-created_at", "-event"],
                        name="delivery_error",
                    ),
                ],
            },
        ),
        migrations.RunSQL("CREATE SEQUENCE webhooks_event_place AS bigint", "DROP SEQUENCE webhooks_event_place"),
    ]
