import django.db.models.deletion
from django.db import migrations, models

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
]


class Migration(migrations.Migration):
    dependencies = [("agents", "0035_quota_table")]

    operations = [
        migrations.AddField(
            model_name="placement",
            name="move",
            field=models.CharField(
                blank=True,
                choices=[("asked", "Asked"), ("begun", "Begun"), ("over", "Over")],
                db_default="",
                default="",
                max_length=5,
            ),
        ),
        migrations.AddField(
            model_name="placement",
            name="other",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="moves",
                to="agents.cluster",
            ),
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
