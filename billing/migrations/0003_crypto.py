import django.db.models.deletion
from django.db import migrations, models


# The next deposit address's index. Never goes back, also when a transaction does.

from billing.migrations._database import DEPOSIT_INDEX, NO_DEPOSIT_INDEX


class Migration(migrations.Migration):
    dependencies = [("billing", "0002_stars")]

    operations = [
        migrations.RunSQL(DEPOSIT_INDEX, NO_DEPOSIT_INDEX),
        migrations.CreateModel(
            name="ChainState",
            fields=[
                ("chain_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("head", models.BigIntegerField(default=0, help_text="The newest block that any node told of.")),
                ("head_at", models.DateTimeField()),
                (
                    "pending_to",
                    models.BigIntegerField(
                        help_text="Up to here the addresses of pending orders were read for deposits."
                    ),
                ),
                ("all_to", models.BigIntegerField(help_text="Up to here all addresses were.")),
                ("read_at", models.DateTimeField(help_text="When pending orders were last looked at.")),
                ("fault", models.CharField(blank=True, max_length=300)),
            ],
        ),
        migrations.CreateModel(
            name="CryptoOrder",
            fields=[
                (
                    "order_ptr",
                    models.OneToOneField(
                        auto_created=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        parent_link=True,
                        primary_key=True,
                        serialize=False,
                        to="billing.order",
                    ),
                ),
                ("asset", models.CharField(choices=[("usdt", "Usdt"), ("usdc", "Usdc")], max_length=4)),
                ("chain_id", models.BigIntegerField()),
                ("token", models.CharField(max_length=42)),
                ("decimals", models.PositiveSmallIntegerField()),
                ("amount", models.DecimalField(decimal_places=0, max_digits=78)),
                ("baseline", models.DecimalField(decimal_places=0, max_digits=78)),
                (
                    "baseline_block",
                    models.BigIntegerField(help_text="What lies in this block or before it was there already."),
                ),
                ("baseline_hash", models.CharField(blank=True, max_length=66)),
                (
                    "baseline_final",
                    models.BooleanField(default=False, help_text="Whether the baseline was read again once final."),
                ),
                (
                    "seen",
                    models.DecimalField(
                        decimal_places=0, default=0, help_text="Received so far, final or not.", max_digits=78
                    ),
                ),
                ("credited", models.DecimalField(decimal_places=0, default=0, max_digits=78)),
                (
                    "paid_block",
                    models.BigIntegerField(blank=True, help_text="The block at which it was found paid.", null=True),
                ),
                ("late", models.BooleanField(default=False)),
                ("tx_hash", models.CharField(blank=True, max_length=66, null=True)),
            ],
            bases=("billing.order",),
        ),
        migrations.CreateModel(
            name="DepositAddress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "account",
                    models.CharField(help_text="A fingerprint of the xpub that it was derived from.", max_length=16),
                ),
                ("hd_index", models.PositiveIntegerField()),
                ("address", models.CharField(max_length=42, unique=True)),
                ("created_at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="deposit_addresses", to="agents.agent"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Deposit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chain_id", models.BigIntegerField()),
                ("tx_hash", models.CharField(max_length=66)),
                ("log_index", models.PositiveIntegerField()),
                ("block", models.BigIntegerField()),
                ("block_hash", models.CharField(max_length=66)),
                ("asset", models.CharField(choices=[("usdt", "Usdt"), ("usdc", "Usdc")], max_length=4)),
                ("token", models.CharField(max_length=42)),
                ("sender", models.CharField(max_length=42)),
                ("amount", models.DecimalField(decimal_places=0, max_digits=78)),
                (
                    "unapplied",
                    models.CharField(
                        blank=True, help_text="Why it bought nothing: an operator decides.", max_length=200
                    ),
                ),
                ("seen_at", models.DateTimeField()),
                (
                    "order",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deposits",
                        to="billing.cryptoorder",
                    ),
                ),
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deposits",
                        to="billing.depositaddress",
                    ),
                ),
            ],
            options={
                "ordering": ("-block", "-log_index"),
            },
        ),
        migrations.AddField(
            model_name="cryptoorder",
            name="deposit_address",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="orders", to="billing.depositaddress"
            ),
        ),
        migrations.CreateModel(
            name="HighWater",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chain_id", models.BigIntegerField()),
                ("asset", models.CharField(choices=[("usdt", "Usdt"), ("usdc", "Usdc")], max_length=4)),
                ("balance", models.DecimalField(decimal_places=0, max_digits=78)),
                ("block", models.BigIntegerField()),
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="high_waters",
                        to="billing.depositaddress",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Sweep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chain_id", models.BigIntegerField()),
                ("asset", models.CharField(choices=[("usdt", "Usdt"), ("usdc", "Usdc")], max_length=4)),
                ("amount", models.DecimalField(decimal_places=0, max_digits=78)),
                ("actor", models.CharField(max_length=80)),
                ("at", models.DateTimeField()),
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sweeps", to="billing.depositaddress"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="depositaddress",
            constraint=models.UniqueConstraint(fields=("account", "hd_index"), name="deposit_address_index"),
        ),
        migrations.AddConstraint(
            model_name="depositaddress",
            constraint=models.UniqueConstraint(fields=("agent", "account"), name="deposit_address_agent"),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(fields=["deposit_address", "asset", "block"], name="deposit_of"),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(
                condition=models.Q(("order", None), ("unapplied", "")), fields=["seen_at"], name="deposit_open"
            ),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(
                condition=models.Q(("unapplied", ""), _negated=True), fields=["-seen_at"], name="deposit_unapplied"
            ),
        ),
        migrations.AddConstraint(
            model_name="deposit",
            constraint=models.UniqueConstraint(fields=("chain_id", "tx_hash", "log_index"), name="deposit_once"),
        ),
        migrations.AddConstraint(
            model_name="deposit",
            constraint=models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="deposit_amount"),
        ),
        migrations.AddIndex(
            model_name="cryptoorder",
            index=models.Index(
                condition=models.Q(("paid_block__isnull", False), ("tx_hash", None)),
                fields=["paid_block"],
                name="crypto_order_no_hash",
            ),
        ),
        migrations.AddConstraint(
            model_name="cryptoorder",
            constraint=models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="crypto_order_amount"),
        ),
        migrations.AddConstraint(
            model_name="cryptoorder",
            constraint=models.CheckConstraint(condition=models.Q(("baseline__gte", 0)), name="crypto_order_baseline"),
        ),
        migrations.AddConstraint(
            model_name="highwater",
            constraint=models.UniqueConstraint(fields=("deposit_address", "chain_id", "asset"), name="high_water_of"),
        ),
        migrations.AddConstraint(
            model_name="sweep",
            constraint=models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="sweep_amount"),
        ),
    ]
