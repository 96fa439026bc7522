import config.crypto
import config.ids
import datetime
import django.core.validators
import django.db.models.deletion
import functools
from django.conf import settings
from django.db import migrations, models

from billing.migrations._database import (
    DEPOSIT_INDEX,
    INVOICE_ALLOW,
    INVOICE_REFUSE,
    NO_DEPOSIT_INDEX,
    PAYMENT_ALLOW,
    PAYMENT_REFUSE,
    ROWS_ALLOW,
    ROWS_REFUSE,
)


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("billing", "0001_initial"),
        ("billing", "0002_stars"),
        ("billing", "0003_crypto"),
        ("billing", "0004_seen_block"),
        ("billing", "0005_operators"),
        ("billing", "0006_sweep_once"),
        ("billing", "0007_deposit_addresses"),
        ("billing", "0008_was_paid"),
        ("billing", "0009_spans"),
        ("billing", "0010_dropped_payments"),
        ("billing", "0011_dropped_payments_indexes"),
        ("billing", "0012_reminded_at"),
        ("billing", "0013_invoices"),
        ("billing", "0014_refunded_parts"),
        ("billing", "0015_refunded_parts_indexes"),
        ("billing", "0016_deferred_revenue"),
        ("billing", "0017_coupons"),
        ("billing", "0018_coupons_index"),
        ("billing", "0019_remind_who_has_paid"),
        ("billing", "0020_stripe"),
        ("billing", "0021_next_plan"),
        ("billing", "0022_span_homes"),
        ("billing", "0023_came_back"),
        ("billing", "0024_stray_coupon"),
        ("billing", "0025_dispute_homes"),
        ("billing", "0026_told_plans"),
    ]

    dependencies = [
        ("accounts", "0001_squashed_0006_mail_server"),
        ("agents", "0001_squashed_0034_drill_index"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentTerm",
            fields=[],
            options={
                "verbose_name": "term",
                "permissions": [("correct_term", "Can grant, revoke, credit and refund")],
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("agents.agent",),
        ),
        migrations.CreateModel(
            name="BillingDetails",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="billing_details",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                ("address", models.CharField(blank=True, max_length=500)),
                ("country", models.CharField(blank=True, max_length=2)),
                ("tax_id", models.CharField(blank=True, max_length=40)),
            ],
            options={
                "verbose_name_plural": "billing details",
                "indexes": [],
                "constraints": [],
            },
        ),
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
                (
                    "asked_at",
                    models.DateTimeField(blank=True, help_text="When an operator last had it looked at.", null=True),
                ),
            ],
            options={
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Coupon",
            fields=[
                (
                    "code",
                    models.CharField(
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                        validators=[
                            django.core.validators.RegexValidator("^[A-Z0-9-]{3,40}$", "3 to 40 of A-Z, 0-9 and -")
                        ],
                    ),
                ),
                (
                    "percent",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="Taken off the price.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(99),
                        ],
                    ),
                ),
                (
                    "usd",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="Taken off the price, instead of a percentage.",
                        max_digits=8,
                        null=True,
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        help_text="For this plan alone.",
                        max_length=20,
                    ),
                ),
                (
                    "period",
                    models.CharField(
                        blank=True,
                        choices=[("monthly", "Monthly"), ("annual", "Annual")],
                        help_text="For this period alone.",
                        max_length=8,
                    ),
                ),
                ("valid_from", models.DateTimeField(blank=True, null=True)),
                ("valid_until", models.DateTimeField(blank=True, null=True)),
                (
                    "uses",
                    models.PositiveIntegerField(
                        blank=True, help_text="How often in all; empty: as often as wanted.", null=True
                    ),
                ),
                ("uses_of_account", models.PositiveIntegerField(default=1, help_text="How often each account.")),
                ("note", models.CharField(blank=True, help_text="What it is for; operators see it.", max_length=200)),
            ],
            options={
                "ordering": ("code",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("percent__isnull", False), ("usd__isnull", True)),
                            models.Q(("percent__isnull", True), ("usd__isnull", False)),
                            _connector="OR",
                        ),
                        name="coupon_one_of_two",
                        violation_error_message="Give a percentage or a sum in USD, one of them.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("percent__isnull", True), ("percent__range", (1, 99)), _connector="OR"),
                        name="coupon_percent",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("usd__isnull", True), ("usd__gt", 0), _connector="OR"),
                        name="coupon_usd",
                        violation_error_message="The sum must be more than nothing.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_from", None),
                            ("valid_until", None),
                            ("valid_until__gt", models.F("valid_from")),
                            _connector="OR",
                        ),
                        name="coupon_valid",
                        violation_error_message="It must end after it begins.",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="DeferredRevenue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("ended_at", models.DateTimeField(help_text="The first moment of the next month, UTC.")),
                (
                    "provider",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("gumroad", "Gumroad"),
                            ("lemonsqueezy", "Lemonsqueezy"),
                            ("usdt", "Usdt"),
                            ("usdc", "Usdc"),
                            ("stars", "Stars"),
                            ("stripe", "Stripe"),
                            ("internal", "Internal"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                    ),
                ),
                (
                    "period",
                    models.CharField(blank=True, choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8),
                ),
                ("currency", models.CharField(blank=True, max_length=12)),
                ("usd", models.DecimalField(decimal_places=2, max_digits=14)),
            ],
            options={
                "verbose_name_plural": "deferred revenue",
                "ordering": ("-ended_at", "provider", "tier", "period", "currency"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("ended_at", "provider", "tier", "period", "currency"), name="deferred_revenue_once"
                    ),
                    models.CheckConstraint(condition=models.Q(("usd__gte", 0)), name="deferred_revenue_usd"),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="DepositAddress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="deposit_addresses", to="agents.agent"
                    ),
                ),
                (
                    "account",
                    models.CharField(help_text="A fingerprint of the xpub that it was derived from.", max_length=16),
                ),
                ("hd_index", models.PositiveIntegerField()),
                ("address", models.CharField(max_length=42, unique=True)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "deposit addresses",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "hd_index"), name="deposit_address_index"),
                    models.UniqueConstraint(fields=("agent", "account"), name="deposit_address_agent"),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="HighWater",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="high_waters",
                        to="billing.depositaddress",
                    ),
                ),
                ("chain_id", models.BigIntegerField()),
                ("asset", models.CharField(choices=[("usdt", "Usdt"), ("usdc", "Usdc")], max_length=4)),
                ("balance", models.DecimalField(decimal_places=0, max_digits=78)),
                ("block", models.BigIntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("deposit_address", "chain_id", "asset"), name="high_water_of")
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="InvoiceSeries",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("last", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "verbose_name_plural": "invoice series",
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Lapse",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="lapses", to="agents.agent"
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[("trial", "Trial"), ("grace", "Grace"), ("paid", "Paid"), ("internal", "Internal")],
                        max_length=8,
                    ),
                ),
                ("stopped_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, help_text="When it was paid for again.", null=True)),
            ],
            options={
                "ordering": ("-stopped_at",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)), fields=("agent",), name="lapse_one_open"
                    )
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Misplaced",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="misplaced",
                        to="billing.depositaddress",
                    ),
                ),
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
                "indexes": [
                    models.Index(condition=models.Q(("amount__gt", 0)), fields=["-seen_at"], name="misplaced_there")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("deposit_address", "chain_id", "token"), name="misplaced_of"),
                    models.CheckConstraint(condition=models.Q(("amount__gte", 0)), name="misplaced_amount"),
                ],
            },
        ),
        migrations.CreateModel(
            name="NextPlan",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="next_plan",
                        serialize=False,
                        to="agents.agent",
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                    ),
                ),
                ("price_usd", models.DecimalField(decimal_places=2, max_digits=10)),
                ("tier_snapshot", models.JSONField()),
                ("chosen_at", models.DateTimeField()),
                (
                    "dropped_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When its owner kept the old plan. A charge of this price may still be under way.",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ("-chosen_at", "-agent_id"),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("price_usd__gt", 0)), name="next_plan_price")
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.CharField(editable=False, max_length=40, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="orders", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="orders", to="agents.agent"
                    ),
                ),
                (
                    "provider",
                    models.CharField(
                        choices=[
                            ("gumroad", "Gumroad"),
                            ("lemonsqueezy", "Lemonsqueezy"),
                            ("usdt", "Usdt"),
                            ("usdc", "Usdc"),
                            ("stars", "Stars"),
                            ("stripe", "Stripe"),
                            ("internal", "Internal"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                    ),
                ),
                ("period", models.CharField(choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8)),
                ("price_usd", models.DecimalField(decimal_places=2, max_digits=10)),
                (
                    "coupon",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        help_text="What the price is less by.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="orders",
                        to="billing.coupon",
                    ),
                ),
                ("tier_snapshot", models.JSONField()),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("paid", "Paid"), ("expired", "Expired")],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(help_text="When it is given up unless money was seen.")),
                ("paid_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(fields=["agent", "-created_at", "-id"], name="order_agent"),
                    models.Index(fields=["user", "-created_at", "-id"], name="order_user"),
                    models.Index(
                        condition=models.Q(("coupon__isnull", False)), fields=["coupon", "user"], name="order_coupon"
                    ),
                    models.Index(condition=models.Q(("status", "pending")), fields=["expires_at"], name="order_due"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "pending")), fields=("agent",), name="order_one_pending"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("paid_at__isnull", False), ("status", "paid")),
                            models.Q(models.Q(("status", "paid"), _negated=True), ("paid_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="order_paid_when",
                    ),
                    models.CheckConstraint(condition=models.Q(("price_usd__gt", 0)), name="order_price"),
                ],
            },
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
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="orders", to="billing.depositaddress"
                    ),
                ),
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
                (
                    "seen_block",
                    models.BigIntegerField(
                        blank=True, help_text="The block at which so much was seen first.", null=True
                    ),
                ),
                ("credited", models.DecimalField(decimal_places=0, default=0, max_digits=78)),
                (
                    "paid_block",
                    models.BigIntegerField(blank=True, help_text="The block at which it was found paid.", null=True),
                ),
                ("late", models.BooleanField(default=False)),
                ("tx_hash", models.CharField(blank=True, max_length=66, null=True)),
                (
                    "recheck_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the chain is asked again whether what paid it is still there.",
                        null=True,
                    ),
                ),
                (
                    "dropped_at",
                    models.DateTimeField(
                        blank=True, help_text="When what paid it was found to be gone from the chain.", null=True
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("recheck_at__isnull", False)),
                        fields=["recheck_at"],
                        name="crypto_order_recheck",
                    ),
                    models.Index(
                        condition=models.Q(("dropped_at__isnull", False)),
                        fields=["dropped_at"],
                        name="crypto_order_dropped",
                    ),
                    models.Index(
                        condition=models.Q(("paid_block__isnull", False), ("tx_hash", None)),
                        fields=["paid_block"],
                        name="crypto_order_no_hash",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="crypto_order_amount"),
                    models.CheckConstraint(condition=models.Q(("baseline__gte", 0)), name="crypto_order_baseline"),
                ],
            },
            bases=("billing.order",),
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
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deposits",
                        to="billing.depositaddress",
                    ),
                ),
                ("asset", models.CharField(choices=[("usdt", "Usdt"), ("usdc", "Usdc")], max_length=4)),
                ("token", models.CharField(max_length=42)),
                ("sender", models.CharField(max_length=42)),
                ("amount", models.DecimalField(decimal_places=0, max_digits=78)),
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
                    "unapplied",
                    models.CharField(
                        blank=True, help_text="Why it bought nothing: an operator decides.", max_length=200
                    ),
                ),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-block", "-log_index"),
                "indexes": [
                    models.Index(fields=["deposit_address", "asset", "block"], name="deposit_of"),
                    models.Index(
                        condition=models.Q(("order", None), ("unapplied", "")), fields=["seen_at"], name="deposit_open"
                    ),
                    models.Index(
                        condition=models.Q(("unapplied", ""), _negated=True),
                        fields=["-seen_at"],
                        name="deposit_unapplied",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("chain_id", "tx_hash", "log_index"), name="deposit_once"),
                    models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="deposit_amount"),
                ],
            },
        ),
        migrations.CreateModel(
            name="StarsFeed",
            fields=[
                ("bot", models.CharField(max_length=80, primary_key=True, serialize=False)),
                ("seen", models.PositiveBigIntegerField(default=0)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="StarsOrder",
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
                ("amount_stars", models.PositiveIntegerField()),
                (
                    "star_usd",
                    models.DecimalField(
                        decimal_places=6, help_text="A star's worth when it was ordered.", max_digits=12
                    ),
                ),
                ("invoice_link", models.URLField(max_length=500)),
                (
                    "hold_until",
                    models.DateTimeField(
                        blank=True, help_text="Somebody is paying: until then nobody else may begin to.", null=True
                    ),
                ),
                ("held_by", models.BigIntegerField(blank=True, help_text="That person's id at Telegram.", null=True)),
                (
                    "payer_id",
                    models.BigIntegerField(blank=True, help_text="Who paid, by the id at Telegram.", null=True),
                ),
                ("charge_id", models.CharField(blank=True, max_length=200, null=True, unique=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("amount_stars__gt", 0)), name="stars_order_amount"),
                    models.CheckConstraint(condition=models.Q(("star_usd__gt", 0)), name="stars_order_star_usd"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("held_by__isnull", True), ("hold_until__isnull", True)),
                            models.Q(("held_by__isnull", False), ("hold_until__isnull", False)),
                            _connector="OR",
                        ),
                        name="stars_order_hold",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("charge_id__isnull", True), ("payer_id__isnull", True)),
                            models.Q(("charge_id__isnull", False), ("payer_id__isnull", False)),
                            _connector="OR",
                        ),
                        name="stars_order_charge",
                    ),
                ],
                "indexes": [],
            },
            bases=("billing.order",),
        ),
        migrations.CreateModel(
            name="StrayCharge",
            fields=[
                ("charge_id", models.CharField(max_length=200, primary_key=True, serialize=False)),
                (
                    "payer_id",
                    models.BigIntegerField(blank=True, help_text="Who paid, by the id at Telegram.", null=True),
                ),
                (
                    "order",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="strays",
                        to="billing.starsorder",
                    ),
                ),
                ("amount", models.PositiveBigIntegerField()),
                ("currency", models.CharField(max_length=12)),
                ("payload", models.CharField(blank=True, max_length=200)),
                (
                    "why",
                    models.CharField(
                        choices=[
                            ("second", "a second charge for a paid order"),
                            ("amount", "not the order's amount"),
                            ("deleted", "the agent is deleted"),
                            ("unknown", "no order of ours"),
                            ("returned", "sent back before it was counted"),
                            ("asked", "an operator sends it back"),
                            ("coupon", "late, and others have used its coupon"),
                        ],
                        max_length=10,
                    ),
                ),
                ("seen_at", models.DateTimeField()),
                ("refund_at", models.DateTimeField(blank=True, null=True)),
                ("refunded_at", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("last_error", models.CharField(blank=True, max_length=300)),
                (
                    "actor",
                    models.CharField(blank=True, help_text="The operator who asked for it to go back.", max_length=80),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
            ],
            options={
                "ordering": ("-seen_at", "charge_id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("refund_at__isnull", False)), fields=["refund_at"], name="stray_due"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("refund_at__isnull", True),
                            models.Q(("payer_id__isnull", False), ("refunded_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="stray_refund_due",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="StripeCustomer",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="stripe_customer",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("customer_id", models.CharField(max_length=100, unique=True)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="StripeEvent",
            fields=[
                ("event_id", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("type", models.CharField(max_length=80)),
                ("object_id", models.CharField(max_length=100)),
                ("created_at", models.DateTimeField(help_text="By Stripe's clock.")),
                ("received_at", models.DateTimeField()),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("done_at", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("last_error", models.CharField(blank=True, max_length=300)),
                (
                    "stray",
                    models.CharField(
                        blank=True, help_text="Why it is nobody's: an operator looks at Stripe.", max_length=200
                    ),
                ),
            ],
            options={
                "ordering": ("-received_at", "-event_id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="stripe_event_due"
                    ),
                    models.Index(fields=["received_at"], name="stripe_event_received"),
                ],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="StripeFeed",
            fields=[
                ("key", models.CharField(max_length=16, primary_key=True, serialize=False)),
                ("read_to", models.DateTimeField()),
            ],
            options={
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="StripeOrder",
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
                ("customer_id", models.CharField(max_length=100)),
                ("session_id", models.CharField(max_length=100, unique=True)),
                ("checkout_url", models.URLField(max_length=2000)),
            ],
            options={
                "indexes": [],
                "constraints": [],
            },
            bases=("billing.order",),
        ),
        migrations.CreateModel(
            name="CardSubscription",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("subscription_id", models.CharField(max_length=100, unique=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="card_subscriptions",
                        to="agents.agent",
                    ),
                ),
                (
                    "order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="card_subscriptions",
                        to="billing.stripeorder",
                    ),
                ),
                ("customer_id", models.CharField(max_length=100)),
                (
                    "tier",
                    models.CharField(
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        help_text="What a charge pays for.",
                        max_length=20,
                    ),
                ),
                ("price_usd", models.DecimalField(decimal_places=2, max_digits=10)),
                ("tier_snapshot", models.JSONField()),
                (
                    "told_plans",
                    models.JSONField(
                        blank=True,
                        help_text="Other plans whose price Stripe may have been told: an invoice of one of these pays for that.",
                        null=True,
                    ),
                ),
                ("status", models.CharField(help_text="Stripe's word.", max_length=30)),
                (
                    "cancels",
                    models.BooleanField(
                        default=False, help_text="It ends with its period: so it was chosen at Stripe."
                    ),
                ),
                ("period_end", models.DateTimeField(blank=True, help_text="When the card is charged next.", null=True)),
                ("read_at", models.DateTimeField(help_text="When Stripe last told of it.")),
                ("check_at", models.DateTimeField(blank=True, help_text="When Stripe is asked again.", null=True)),
                ("canceled_at", models.DateTimeField(blank=True, help_text="When it was canceled here.", null=True)),
                (
                    "cancel_at",
                    models.DateTimeField(blank=True, help_text="When Stripe is asked again to cancel it.", null=True),
                ),
                (
                    "reprice_at",
                    models.DateTimeField(blank=True, help_text="When Stripe is told which price is next.", null=True),
                ),
                (
                    "attempts",
                    models.PositiveIntegerField(
                        default=0, help_text="How often Stripe was asked to cancel it, or to charge another price."
                    ),
                ),
                ("last_error", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("check_at__isnull", False)),
                        fields=["check_at"],
                        name="card_subscription_due",
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ("canceled", "incomplete_expired")), _negated=True),
                        fields=["agent"],
                        name="card_subscription_live",
                    ),
                    models.Index(
                        condition=models.Q(("reprice_at__isnull", False)),
                        fields=["reprice_at"],
                        name="card_subscription_reprice",
                    ),
                ],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Subscription",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("sub",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="subscriptions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="subscriptions", to="agents.agent"
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                    ),
                ),
                ("period", models.CharField(choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8)),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("canceled", "Canceled"), ("expired", "Expired")],
                        default="active",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("price_usd", models.DecimalField(decimal_places=2, max_digits=10)),
                ("current_period_end", models.DateTimeField()),
                (
                    "provider",
                    models.CharField(
                        choices=[
                            ("gumroad", "Gumroad"),
                            ("lemonsqueezy", "Lemonsqueezy"),
                            ("usdt", "Usdt"),
                            ("usdc", "Usdc"),
                            ("stars", "Stars"),
                            ("stripe", "Stripe"),
                            ("internal", "Internal"),
                        ],
                        max_length=20,
                        null=True,
                    ),
                ),
                ("license_key", config.crypto.EncryptedText(blank=True, null=True)),
                ("canceled_at", models.DateTimeField(blank=True, null=True)),
                ("tier_snapshot", models.JSONField(blank=True, null=True)),
                ("expired_at", models.DateTimeField(blank=True, null=True)),
                (
                    "anchor_day",
                    models.PositiveSmallIntegerField(help_text="The day of the month on which periods end."),
                ),
                (
                    "counted_at",
                    models.DateTimeField(
                        help_text="When currentPeriodEnd was last set: it does not know of suspensions after this."
                    ),
                ),
                (
                    "parked_at",
                    models.DateTimeField(
                        blank=True, help_text="When its agent was deleted: what is left may be moved.", null=True
                    ),
                ),
                (
                    "reminded_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When its owner was last told that it ends and nothing renews it.",
                        null=True,
                    ),
                ),
                ("license_fingerprint", models.CharField(blank=True, max_length=64)),
                (
                    "external_ref",
                    models.CharField(blank=True, help_text="The provider's name of what was bought.", max_length=120),
                ),
                (
                    "instance",
                    models.CharField(blank=True, help_text="The provider's name of the activation.", max_length=120),
                ),
                ("extra", models.DurationField(default=datetime.timedelta(0))),
                (
                    "card_ref",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="The provider's name of what charges the card again and again.",
                        max_length=120,
                    ),
                ),
                (
                    "stop_card_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the provider is told to charge the card no more; null: it need not be.",
                        null=True,
                    ),
                ),
                (
                    "check_at",
                    models.DateTimeField(blank=True, help_text="When the provider is asked again.", null=True),
                ),
                (
                    "paid_seen_at",
                    models.DateTimeField(
                        blank=True, help_text="When the provider last said that it is paid.", null=True
                    ),
                ),
                (
                    "cancels_there",
                    models.BooleanField(default=False, help_text="Its provider said that it will not renew."),
                ),
                (
                    "unknown_since",
                    models.DateTimeField(blank=True, help_text="Since when the provider gives no answer.", null=True),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(fields=["agent", "-created_at", "-id"], name="subscription_agent"),
                    models.Index(fields=["user", "-created_at", "-id"], name="subscription_user"),
                    models.Index(
                        condition=models.Q(("license_fingerprint", ""), _negated=True),
                        fields=["license_fingerprint"],
                        name="subscription_key",
                    ),
                    models.Index(
                        condition=models.Q(("external_ref", ""), _negated=True),
                        fields=["external_ref"],
                        name="subscription_ref",
                    ),
                    models.Index(
                        condition=models.Q(("card_ref", ""), _negated=True),
                        fields=["card_ref"],
                        name="subscription_card",
                    ),
                    models.Index(
                        condition=models.Q(("stop_card_at__isnull", False)),
                        fields=["stop_card_at"],
                        name="subscription_stop_card",
                    ),
                    models.Index(
                        condition=models.Q(("check_at__isnull", False)), fields=["check_at"], name="subscription_due"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("status__in", ("active", "canceled")),
                            models.Q(
                                ("provider__isnull", True),
                                models.Q(("provider", "internal"), _negated=True),
                                _connector="OR",
                            ),
                        ),
                        fields=("agent",),
                        name="subscription_one_paid",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ("active", "canceled")), ("provider", "internal")),
                        fields=("agent",),
                        name="subscription_one_internal",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("status__in", ("active", "canceled")), models.Q(("license_fingerprint", ""), _negated=True)
                        ),
                        fields=("provider", "license_fingerprint"),
                        name="subscription_one_key",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("status__in", ("active", "canceled")), models.Q(("external_ref", ""), _negated=True)
                        ),
                        fields=("provider", "external_ref"),
                        name="subscription_one_purchase",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("expired_at__isnull", False), ("status", "expired")),
                            models.Q(("status__in", ("active", "canceled")), ("expired_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="subscription_expired_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "canceled"), _negated=True),
                            ("canceled_at__isnull", False),
                            _connector="OR",
                        ),
                        name="subscription_canceled_when",
                    ),
                    models.CheckConstraint(condition=models.Q(("price_usd__gte", 0)), name="subscription_price"),
                    models.CheckConstraint(
                        condition=models.Q(("anchor_day__range", (1, 31))), name="subscription_anchor"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Payment",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("pay",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "provider",
                    models.CharField(
                        choices=[
                            ("gumroad", "Gumroad"),
                            ("lemonsqueezy", "Lemonsqueezy"),
                            ("usdt", "Usdt"),
                            ("usdc", "Usdc"),
                            ("stars", "Stars"),
                            ("stripe", "Stripe"),
                            ("internal", "Internal"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "external_id",
                    models.CharField(help_text="The provider's name of this payment: counted once.", max_length=200),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("payment", "Payment"),
                            ("renewal", "Renewal"),
                            ("credit", "Credit"),
                            ("grant", "Grant"),
                            ("refund", "Refund"),
                            ("came back", "Came Back"),
                            ("revoke", "Revoke"),
                            ("key move", "Key Move"),
                            ("move", "Move"),
                            ("restored", "Restored"),
                            ("new plan", "New Plan"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="payments", to="agents.agent"
                    ),
                ),
                (
                    "subscription",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payments",
                        to="billing.subscription",
                    ),
                ),
                (
                    "order",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payments",
                        to="billing.order",
                    ),
                ),
                (
                    "refund_of",
                    models.ForeignKey(
                        db_index=False,
                        help_text="The payment whose money goes back.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refunds",
                        to="billing.payment",
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                    ),
                ),
                (
                    "period",
                    models.CharField(blank=True, choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8),
                ),
                ("price_usd", models.DecimalField(decimal_places=2, max_digits=10, null=True)),
                ("amount", models.DecimalField(decimal_places=0, max_digits=78, null=True)),
                ("currency", models.CharField(blank=True, max_length=12)),
                (
                    "over",
                    models.DecimalField(
                        decimal_places=0, default=0, help_text="Paid beyond the amount.", max_digits=78
                    ),
                ),
                ("late", models.BooleanField(default=False, help_text="It came after its order had expired.")),
                ("paid_till", models.DateTimeField(help_text="What it was paid until afterwards.", null=True)),
                (
                    "converted",
                    models.DurationField(
                        default=datetime.timedelta(0), help_text="Time that another plan's remainder became."
                    ),
                ),
                (
                    "unapplied",
                    models.CharField(
                        blank=True, help_text="Why it bought nothing: an operator decides.", max_length=200
                    ),
                ),
                ("actor", models.CharField(max_length=80)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-at", "-id"),
                "indexes": [
                    models.Index(fields=["agent", "-at", "-id"], name="payment_agent"),
                    models.Index(fields=["at"], name="payment_at"),
                    models.Index(
                        condition=models.Q(("unapplied", ""), _negated=True), fields=["-at"], name="payment_unapplied"
                    ),
                    models.Index(
                        condition=models.Q(("refund_of__isnull", False)), fields=["refund_of"], name="payment_refund_of"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "external_id"), name="payment_once"),
                    models.CheckConstraint(
                        condition=models.Q(("amount__isnull", True), ("amount__gt", 0), _connector="OR"),
                        name="payment_amount",
                    ),
                    models.CheckConstraint(condition=models.Q(("over__gte", 0)), name="payment_over"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("subscription__isnull", False), models.Q(("unapplied", ""), _negated=True), _connector="OR"
                        ),
                        name="payment_applied_or_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["payment", "renewal"]),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="payment_reason",
                    ),
                ],
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
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "deposit",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decision",
                        to="billing.deposit",
                    ),
                ),
                (
                    "payment",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decision",
                        to="billing.payment",
                    ),
                ),
                (
                    "credit",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decided",
                        to="billing.payment",
                    ),
                ),
                ("actor", models.CharField(max_length=80)),
                ("reason", models.CharField(max_length=500)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-at", "-id"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("deposit__isnull", True), ("payment__isnull", False)),
                            models.Q(("deposit__isnull", False), ("payment__isnull", True)),
                            _connector="OR",
                        ),
                        name="decision_about_one",
                    ),
                    models.CheckConstraint(condition=models.Q(("reason", ""), _negated=True), name="decision_reason"),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Invoice",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("inv",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "kind",
                    models.CharField(choices=[("invoice", "Invoice"), ("credit_note", "Credit Note")], max_length=11),
                ),
                ("number", models.CharField(max_length=60, unique=True)),
                (
                    "payment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invoice", to="billing.payment"
                    ),
                ),
                (
                    "corrects",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="credit_notes",
                        to="billing.invoice",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="invoices",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invoices", to="agents.agent"
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("lang", models.CharField(max_length=8)),
                ("seller", models.JSONField()),
                ("buyer", models.JSONField()),
                ("description", models.CharField(max_length=200)),
                ("paid_with", models.CharField(max_length=120)),
                ("total_usd", models.DecimalField(decimal_places=2, max_digits=10)),
                ("tax_usd", models.DecimalField(decimal_places=2, max_digits=10)),
                ("tax_name", models.CharField(blank=True, max_length=40)),
                ("tax_percent", models.DecimalField(decimal_places=4, max_digits=7)),
                ("reverse_charge", models.BooleanField(default=False)),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(fields=["user", "-created_at", "-id"], name="invoice_user"),
                    models.Index(fields=["-created_at", "-id"], name="invoice_newest"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("total_usd__gt", 0)), name="invoice_total"),
                    models.CheckConstraint(
                        condition=models.Q(("tax_usd__gte", 0), ("tax_usd__lte", models.F("total_usd"))),
                        name="invoice_tax",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("corrects__isnull", True), ("kind", "invoice")),
                            models.Q(("corrects__isnull", False), ("kind", "credit_note")),
                            _connector="OR",
                        ),
                        name="invoice_corrects",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Reports",
            fields=[],
            options={
                "verbose_name": "reports",
                "verbose_name_plural": "reports",
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("billing.payment",),
        ),
        migrations.CreateModel(
            name="Span",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "subscription",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="spans", to="billing.subscription"
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        help_text="Null until the ledger has it.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="spans",
                        to="billing.payment",
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("length", models.DurationField()),
                (
                    "usd",
                    models.DecimalField(
                        decimal_places=10,
                        help_text="What was received for it; of a gift, its list price.",
                        max_digits=20,
                    ),
                ),
                ("is_gift", models.BooleanField(default=False)),
                (
                    "home_tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                        null=True,
                    ),
                ),
                (
                    "home_period",
                    models.CharField(
                        blank=True, choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8, null=True
                    ),
                ),
                ("home_snapshot", models.JSONField(blank=True, null=True)),
                ("home_length", models.DurationField(blank=True, null=True)),
            ],
            options={
                "ordering": ("starts_at", "id"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ends_at__gte", models.F("starts_at"))), name="span_order"
                    ),
                    models.CheckConstraint(condition=models.Q(("usd__gte", 0)), name="span_usd"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("home_length", None), ("home_period", None), ("home_tier", None)),
                            models.Q(
                                ("home_length__isnull", False),
                                ("home_period__isnull", False),
                                ("home_tier__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="span_home",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="StripeDispute",
            fields=[
                ("dispute_id", models.CharField(max_length=100, primary_key=True, serialize=False)),
                (
                    "payment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="stripe_disputes",
                        to="billing.payment",
                    ),
                ),
                (
                    "subscription",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="stripe_disputes",
                        to="billing.subscription",
                    ),
                ),
                ("status", models.CharField(help_text="Stripe's word.", max_length=30)),
                ("cents", models.PositiveIntegerField()),
                ("length", models.DurationField(default=datetime.timedelta(0))),
                ("usd", models.DecimalField(decimal_places=10, default=0, max_digits=20)),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        help_text="The plan of that time.",
                        max_length=20,
                    ),
                ),
                (
                    "period",
                    models.CharField(blank=True, choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8),
                ),
                ("tier_snapshot", models.JSONField(blank=True, null=True)),
                (
                    "home_tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                        null=True,
                    ),
                ),
                (
                    "home_period",
                    models.CharField(
                        blank=True, choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8, null=True
                    ),
                ),
                ("home_snapshot", models.JSONField(blank=True, null=True)),
                ("home_length", models.DurationField(blank=True, null=True)),
                (
                    "is_taken",
                    models.BooleanField(default=False, help_text="Its time stands still until the bank has decided."),
                ),
                ("seen_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-seen_at", "-dispute_id"),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="StripeInvoice",
            fields=[
                ("invoice_id", models.CharField(max_length=100, primary_key=True, serialize=False)),
                (
                    "card",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="invoices",
                        to="billing.cardsubscription",
                    ),
                ),
                ("payment_intent", models.CharField(blank=True, db_index=True, max_length=100)),
                (
                    "payment",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="stripe_invoice",
                        to="billing.payment",
                    ),
                ),
                (
                    "failed_at",
                    models.DateTimeField(
                        blank=True, help_text="When its owner was told of the failed charge.", null=True
                    ),
                ),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-seen_at", "-invoice_id"),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="StripeRefund",
            fields=[
                (
                    "payment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="stripe_refund",
                        serialize=False,
                        to="billing.payment",
                    ),
                ),
                ("payment_intent", models.CharField(max_length=100)),
                ("refund_at", models.DateTimeField(blank=True, null=True)),
                ("refunded_at", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("last_error", models.CharField(blank=True, max_length=300)),
                ("actor", models.CharField(max_length=80)),
                ("reason", models.CharField(max_length=500)),
                ("asked_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-asked_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("refund_at__isnull", False)), fields=["refund_at"], name="stripe_refund_due"
                    )
                ],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Sweep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sweeps", to="billing.depositaddress"
                    ),
                ),
                ("chain_id", models.BigIntegerField()),
                ("tx_hash", models.CharField(db_default="", max_length=66)),
                ("log_index", models.PositiveIntegerField(db_default=0)),
                ("block", models.BigIntegerField(db_default=0)),
                ("asset", models.CharField(choices=[("usdt", "Usdt"), ("usdc", "Usdc")], max_length=4)),
                ("amount", models.DecimalField(decimal_places=0, max_digits=78)),
                ("actor", models.CharField(max_length=80)),
                ("reason", models.CharField(db_default="", max_length=500)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-at", "-id"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("tx_hash", ""), _negated=True),
                        fields=("chain_id", "tx_hash", "log_index"),
                        name="sweep_once",
                    ),
                    models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="sweep_amount"),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="TaxRate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "country",
                    models.CharField(
                        blank=True,
                        help_text="Empty: buyers of any other country.",
                        max_length=2,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[A-Z]{2}\\Z", "must be a country's two capital letters, such as DE"
                            )
                        ],
                    ),
                ),
                ("name", models.CharField(help_text="As it stands on the invoice, such as VAT.", max_length=40)),
                (
                    "percent",
                    models.DecimalField(
                        decimal_places=4,
                        max_digits=7,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(100),
                        ],
                    ),
                ),
                (
                    "reverse_charge",
                    models.BooleanField(
                        default=False,
                        help_text="A business of this country, with a tax id, owes the tax itself: 0 % on its invoice.",
                    ),
                ),
            ],
            options={
                "ordering": ("country",),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("percent__range", (0, 100))), name="tax_rate_percent")
                ],
                "indexes": [],
            },
        ),
        migrations.RunSQL(PAYMENT_REFUSE, PAYMENT_ALLOW),
        migrations.RunSQL(ROWS_REFUSE, ROWS_ALLOW),
        migrations.RunSQL(INVOICE_REFUSE, INVOICE_ALLOW),
        migrations.RunSQL(DEPOSIT_INDEX, NO_DEPOSIT_INDEX),
    ]
