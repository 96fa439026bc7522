import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

REASONS = [
    ("create", "Create"),
    ("resume", "Resume"),
    ("rebuild", "Rebuild"),
    ("restore", "Restore"),
    ("move", "Move"),
    ("recovery", "Recovery"),
    ("owner", "Owner"),
    ("operator", "Operator"),
    ("trial", "Trial"),
    ("payment", "Payment"),
    ("quota", "Quota"),
    ("suspended", "Suspended"),
    ("expiry", "Expiry"),
    ("domain", "Domain"),
    ("backup", "Backup"),
    ("channel", "Channel"),
]


class Migration(migrations.Migration):
    dependencies = [("agents", "0039_tier_runtime_classes")]

    operations = [
        migrations.CreateModel(
            name="ChannelState",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("channel", models.CharField(max_length=20)),
                (
                    "look_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When its pod is asked again; empty while there is nothing to ask.",
                        null=True,
                    ),
                ),
                (
                    "heard_from_at",
                    models.DateTimeField(blank=True, help_text="When its pod last told of it.", null=True),
                ),
                (
                    "revision",
                    models.PositiveIntegerField(default=0, help_text="Of the configuration that the pod had then."),
                ),
                ("since", models.DateTimeField(blank=True, help_text="Since when it is silent.", null=True)),
                (
                    "reason",
                    models.CharField(blank=True, help_text="Why, in the words of its pod.", max_length=300),
                ),
                (
                    "told_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When this silence had lasted for long enough to be told.",
                        null=True,
                    ),
                ),
                (
                    "mailed_at",
                    models.DateTimeField(
                        blank=True, help_text="When its owner was last written to about it.", null=True
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="channel_states",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=Q(("look_at__isnull", False)), fields=["look_at"], name="channel_look")
                ],
                "constraints": [models.UniqueConstraint(fields=("agent", "channel"), name="channel_once")],
            },
        ),
        migrations.AlterField(
            model_name="agent",
            name="operation",
            field=models.CharField(choices=REASONS, default="create", max_length=12),
        ),
        migrations.AlterField(
            model_name="transition",
            name="reason",
            field=models.CharField(choices=REASONS, max_length=12),
        ),
    ]
