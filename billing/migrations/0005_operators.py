import django.db.models.deletion
from django.db import migrations, models

from billing.migrations._database import ROWS_ALLOW, ROWS_REFUSE


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0004_seen_block"),
    ]

    operations = [
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("actor", models.CharField(max_length=80)),
                ("reason", models.CharField(max_length=500)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Misplaced",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chain_id", models.BigIntegerField()),
                ("token", models.CharField(blank=True, help_text="Empty for the chain's own coin.", max_length=42)),
                ("symbol", models.CharField(max_length=20)),
                ("amount", models.DecimalField(decimal_places=0, max_digits=78)),
                ("block", models.BigIntegerField(help_text="The block at which it was last read.")),
                ("seen_at", models.DateTimeField(help_text="When it was first seen.")),
                ("read_at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "misplaced money",
                "verbose_name_plural": "misplaced money",
                "ordering": ("-seen_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Books",
            fields=[],
            options={
                "verbose_name": "books",
                "verbose_name_plural": "books",
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("billing.payment",),
        ),
        migrations.AlterModelOptions(
            name="sweep",
            options={"ordering": ("-at", "-id")},
        ),
        migrations.AddField(
            model_name="chainstate",
            name="asked_at",
            field=models.DateTimeField(blank=True, help_text="When an operator last had it looked at.", null=True),
        ),
        migrations.AddField(
            model_name="sweep",
            name="block",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="sweep",
            name="log_index",
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="sweep",
            name="reason",
            field=models.CharField(db_default="", max_length=500),
        ),
        migrations.AddField(
            model_name="sweep",
            name="tx_hash",
            field=models.CharField(db_default="", max_length=66),
        ),
        migrations.AddField(
            model_name="decision",
            name="credit",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="decided",
                to="billing.payment",
            ),
        ),
        migrations.AddField(
            model_name="decision",
            name="deposit",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="decision",
                to="billing.deposit",
            ),
        ),
        migrations.AddField(
            model_name="decision",
            name="payment",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="decision",
                to="billing.payment",
            ),
        ),
        migrations.AddField(
            model_name="misplaced",
            name="deposit_address",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="misplaced", to="billing.depositaddress"
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("deposit__isnull", True), ("payment__isnull", False)),
                    models.Q(("deposit__isnull", False), ("payment__isnull", True)),
                    _connector="OR",
                ),
                name="decision_about_one",
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="decision_reason"
            ),
        ),
        migrations.AddIndex(
            model_name="misplaced",
            index=models.Index(condition=models.Q(("amount__gt", 0)), fields=["-seen_at"], name="misplaced_there"),
        ),
        migrations.AddConstraint(
            model_name="misplaced",
            constraint=models.UniqueConstraint(fields=("deposit_address", "chain_id", "token"), name="misplaced_of"),
        ),
        migrations.AddConstraint(
            model_name="misplaced",
            constraint=models.CheckConstraint(condition=models.Q(("amount__gte", 0)), name="misplaced_amount"),
        ),
        migrations.RunSQL(ROWS_REFUSE, ROWS_ALLOW),
    ]
