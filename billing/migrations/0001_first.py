import config.crypto
import config.ids
import datetime
import django.contrib.postgres.indexes
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

    dependencies = [
        ("accounts", "0001_first"),
        ("accounts", "__first__"),
        ("agents", "0001_first"),
    ]

    operations = [
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
            },
        ),
        migrations.CreateModel(
            name="ChainState",
            fields=[
                ("chain_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("head", models.BigIntegerField(default=0, help_text="The newest block that any node reported.")),
                ("head_at", models.DateTimeField()),
                (
                    "pending_to",
                    models.BigIntegerField(
                        help_text="Deposits to addresses of pending orders were read up to this block."
                    ),
                ),
                ("all_to", models.BigIntegerField(help_text="Deposits to all addresses were read up to this block.")),
                ("read_at", models.DateTimeField(help_text="When pending orders were last checked.")),
                ("fault", models.CharField(blank=True, max_length=300)),
                (
                    "asked_at",
                    models.DateTimeField(blank=True, help_text="When an operator last asked for a check.", null=True),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.CharField(editable=False, max_length=40, primary_key=True, serialize=False)),
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
                ("tier_snapshot", models.JSONField()),
                (
                    "placed_by",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="The limited API key that placed the order.",
                        max_length=40,
                        null=True,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("paid", "Paid"), ("expired", "Expired")],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(help_text="When the order expires if no money was seen.")),
                ("paid_at", models.DateTimeField(blank=True, null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="orders", to="agents.agent"
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(fields=["agent", "-created_at", "-id"], name="order_agent"),
                    models.Index(fields=["-created_at", "-id"], name="order_newest"),
                    models.Index(
                        condition=models.Q(("placed_by__isnull", False)), fields=["placed_by"], name="order_placed_by"
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
            name="InvoiceSeries",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("last", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "verbose_name_plural": "invoice series",
            },
        ),
        migrations.CreateModel(
            name="PassedPlan",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tier",
                    models.CharField(
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        max_length=20,
                    ),
                ),
                ("period", models.CharField(choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8)),
                ("snapshot", models.JSONField()),
                ("by", models.JSONField(help_text="The payments that led to this plan.")),
            ],
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
                    models.CharField(
                        help_text="The provider's id of this payment. Each id counts once.", max_length=200
                    ),
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
                        decimal_places=0, default=0, help_text="What was paid above the amount.", max_digits=78
                    ),
                ),
                ("late", models.BooleanField(default=False, help_text="The money came after its order had expired.")),
                (
                    "paid_till",
                    models.DateTimeField(help_text="The end of the paid time after this payment.", null=True),
                ),
                (
                    "converted",
                    models.DurationField(
                        default=datetime.timedelta(0),
                        help_text="Time that was converted from the rest of another plan.",
                    ),
                ),
                (
                    "unapplied",
                    models.CharField(
                        blank=True, help_text="Why it bought nothing. An operator decides what to do.", max_length=200
                    ),
                ),
                ("actor", models.CharField(max_length=80)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="payments", to="agents.agent"
                    ),
                ),
            ],
            options={
                "ordering": ("-at", "-id"),
                "indexes": [
                    models.Index(fields=["agent", "-at", "-id"], name="payment_agent"),
                    models.Index(fields=["at"], name="payment_at"),
                    models.Index(
                        django.contrib.postgres.indexes.OpClass("external_id", "varchar_pattern_ops"),
                        name="payment_external",
                    ),
                    models.Index(
                        condition=models.Q(("kind__in", ["payment", "renewal"]), _negated=True),
                        fields=["kind", "-at", "-id"],
                        name="payment_kind",
                    ),
                    models.Index(
                        condition=models.Q(("unapplied", ""), _negated=True), fields=["-at"], name="payment_unapplied"
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
            name="StarsFeed",
            fields=[
                ("bot", models.CharField(max_length=80, primary_key=True, serialize=False)),
                ("seen", models.PositiveBigIntegerField(default=0)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                ("webhook_change", models.PositiveBigIntegerField(blank=True, null=True)),
            ],
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
        ),
        migrations.CreateModel(
            name="StripeFeed",
            fields=[
                ("key", models.CharField(max_length=16, primary_key=True, serialize=False)),
                ("read_to", models.DateTimeField()),
            ],
        ),
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
            name="CardSubscription",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("subscription_id", models.CharField(max_length=100, unique=True)),
                ("customer_id", models.CharField(max_length=100)),
                (
                    "tier",
                    models.CharField(
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        help_text="The plan that a charge pays for.",
                        max_length=20,
                    ),
                ),
                ("price_usd", models.DecimalField(decimal_places=2, max_digits=10)),
                ("tier_snapshot", models.JSONField()),
                (
                    "told_plans",
                    models.JSONField(
                        blank=True,
                        help_text="Other plans whose price Stripe may charge. An invoice with such a price pays for that plan.",
                        null=True,
                    ),
                ),
                ("status", models.CharField(help_text="The status at Stripe.", max_length=30)),
                (
                    "cancels",
                    models.BooleanField(
                        default=False, help_text="It ends with its period, because the customer cancelled it at Stripe."
                    ),
                ),
                ("period_end", models.DateTimeField(blank=True, help_text="When the card is charged next.", null=True)),
                ("read_at", models.DateTimeField(help_text="When Stripe last reported its state.")),
                ("check_at", models.DateTimeField(blank=True, help_text="When Stripe is asked again.", null=True)),
                ("canceled_at", models.DateTimeField(blank=True, help_text="When it was canceled here.", null=True)),
                (
                    "cancel_at",
                    models.DateTimeField(blank=True, help_text="When Stripe is asked again to cancel it.", null=True),
                ),
                (
                    "reprice_at",
                    models.DateTimeField(
                        blank=True, help_text="When Stripe is asked to charge another price.", null=True
                    ),
                ),
                (
                    "attempts",
                    models.PositiveIntegerField(
                        default=0, help_text="How many times Stripe was asked to cancel it or to charge another price."
                    ),
                ),
                ("last_error", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="card_subscriptions",
                        to="agents.agent",
                    ),
                ),
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
                        help_text="Percentage that is taken off the price.",
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
                        help_text="Sum that is taken off the price, instead of a percentage.",
                        max_digits=8,
                        null=True,
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        help_text="Only for this plan. Empty: for all plans.",
                        max_length=20,
                    ),
                ),
                (
                    "period",
                    models.CharField(
                        blank=True,
                        choices=[("monthly", "Monthly"), ("annual", "Annual")],
                        help_text="Only for this period. Empty: for both periods.",
                        max_length=8,
                    ),
                ),
                ("valid_from", models.DateTimeField(blank=True, null=True)),
                ("valid_until", models.DateTimeField(blank=True, null=True)),
                (
                    "uses",
                    models.PositiveIntegerField(
                        blank=True, help_text="How often all accounts together may use it. Empty: no limit.", null=True
                    ),
                ),
                (
                    "uses_of_account",
                    models.PositiveIntegerField(default=1, help_text="How often one account may use it."),
                ),
                (
                    "note",
                    models.CharField(
                        blank=True, help_text="What the coupon is for. Only operators see this.", max_length=200
                    ),
                ),
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
                ("amount", models.DecimalField(decimal_places=0, max_digits=78)),
                ("baseline", models.DecimalField(decimal_places=0, max_digits=78)),
                (
                    "baseline_block",
                    models.BigIntegerField(help_text="The baseline counts money that came in this block or earlier."),
                ),
                ("baseline_hash", models.CharField(blank=True, max_length=66)),
                (
                    "baseline_final",
                    models.BooleanField(
                        default=False, help_text="Whether the baseline was read again when it was final."
                    ),
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
                        blank=True, help_text="The block at which this sum was first seen.", null=True
                    ),
                ),
                ("credited", models.DecimalField(decimal_places=0, default=0, max_digits=78)),
                (
                    "paid_block",
                    models.BigIntegerField(
                        blank=True, help_text="The block at which the order was found to be paid.", null=True
                    ),
                ),
                ("late", models.BooleanField(default=False)),
                ("tx_hash", models.CharField(blank=True, max_length=66, null=True)),
                (
                    "recheck_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the chain is read again, to check that the payment is still there.",
                        null=True,
                    ),
                ),
                (
                    "dropped_at",
                    models.DateTimeField(
                        blank=True, help_text="When the payment was found to be gone from the chain.", null=True
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
                        django.contrib.postgres.indexes.OpClass("tx_hash", "varchar_pattern_ops"),
                        name="crypto_order_hash",
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
                        decimal_places=6, help_text="The value of a star when the order was made.", max_digits=12
                    ),
                ),
                ("invoice_link", models.URLField(max_length=500)),
                (
                    "hold_until",
                    models.DateTimeField(
                        blank=True,
                        help_text="Somebody is paying. Until this time, nobody else can start to pay.",
                        null=True,
                    ),
                ),
                (
                    "held_by",
                    models.BigIntegerField(
                        blank=True, help_text="The Telegram id of the person who is paying.", null=True
                    ),
                ),
                (
                    "payer_id",
                    models.BigIntegerField(blank=True, help_text="The Telegram id of the person who paid.", null=True),
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
            },
            bases=("billing.order",),
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
            bases=("billing.order",),
        ),
        migrations.AddField(
            model_name="order",
            name="coupon",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="The coupon that reduced the price.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="orders",
                to="billing.coupon",
            ),
        ),
        migrations.AddField(
            model_name="order",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="orders", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.CreateModel(
            name="DataExport",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("exp",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("asked", "Asked"), ("made", "Made"), ("failed", "Failed")],
                        default="asked",
                        max_length=6,
                    ),
                ),
                ("lang", models.CharField(max_length=8)),
                ("asked_at", models.DateTimeField()),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("made_at", models.DateTimeField(blank=True, null=True)),
                ("forget_at", models.DateTimeField(help_text="When the file and this row are deleted.")),
                ("size", models.PositiveIntegerField(default=0)),
                ("file", models.BinaryField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="data_exports",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-asked_at", "-id"),
                "indexes": [
                    models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="export_due"),
                    models.Index(fields=["forget_at"], name="export_over"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "asked")), fields=("user",), name="export_one_open"
                    )
                ],
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
            },
        ),
        migrations.CreateModel(
            name="DepositAddress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "account",
                    models.CharField(
                        help_text="A fingerprint of the xpub from which the address was derived.", max_length=16
                    ),
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
            options={
                "verbose_name_plural": "deposit addresses",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "hd_index"), name="deposit_address_index"),
                    models.UniqueConstraint(fields=("agent", "account"), name="deposit_address_agent"),
                ],
            },
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
                        blank=True, help_text="Why it bought nothing. An operator decides what to do.", max_length=200
                    ),
                ),
                ("seen_at", models.DateTimeField()),
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deposits",
                        to="billing.depositaddress",
                    ),
                ),
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
                    models.Index(fields=["-seen_at", "-id"], name="deposit_newest"),
                    models.Index(
                        django.contrib.postgres.indexes.OpClass("tx_hash", "varchar_pattern_ops"), name="deposit_hash"
                    ),
                    models.Index(
                        django.contrib.postgres.indexes.OpClass("sender", "varchar_pattern_ops"), name="deposit_sender"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("chain_id", "tx_hash", "log_index"), name="deposit_once"),
                    models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="deposit_amount"),
                ],
            },
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
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("deposit_address", "chain_id", "asset"), name="high_water_of")
                ],
            },
        ),
        migrations.CreateModel(
            name="Lapse",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "mode",
                    models.CharField(
                        choices=[("trial", "Trial"), ("grace", "Grace"), ("paid", "Paid"), ("internal", "Internal")],
                        max_length=8,
                    ),
                ),
                ("stopped_at", models.DateTimeField()),
                (
                    "ended_at",
                    models.DateTimeField(blank=True, help_text="When the agent was paid for again.", null=True),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="lapses", to="agents.agent"
                    ),
                ),
            ],
            options={
                "ordering": ("-stopped_at",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)), fields=("agent",), name="lapse_one_open"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Misplaced",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chain_id", models.BigIntegerField()),
                (
                    "token",
                    models.CharField(
                        blank=True, help_text="The token's address. Empty: the chain's own coin.", max_length=42
                    ),
                ),
                ("symbol", models.CharField(max_length=20)),
                ("amount", models.DecimalField(decimal_places=0, max_digits=78)),
                ("block", models.BigIntegerField(help_text="The block at which the amount was last read.")),
                ("seen_at", models.DateTimeField(help_text="When the money was first seen.")),
                ("read_at", models.DateTimeField()),
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="misplaced",
                        to="billing.depositaddress",
                    ),
                ),
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
                        help_text="When the owner decided to keep the old plan. A charge of this price may still be under way.",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ("-chosen_at", "-agent_id"),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("price_usd__gt", 0)), name="next_plan_price")
                ],
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
            },
        ),
        migrations.AddField(
            model_name="payment",
            name="order",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="payments", to="billing.order"
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="refund_of",
            field=models.ForeignKey(
                db_index=False,
                help_text="The payment that is refunded.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="refunds",
                to="billing.payment",
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="payments", to=settings.AUTH_USER_MODEL
            ),
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
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invoices", to="agents.agent"
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
                    "payment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invoice", to="billing.payment"
                    ),
                ),
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
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("actor", models.CharField(max_length=80)),
                ("reason", models.CharField(max_length=500)),
                ("at", models.DateTimeField()),
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
                    "credit",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decided",
                        to="billing.payment",
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
            name="Payouts",
            fields=[],
            options={
                "verbose_name": "payouts and sweeps",
                "verbose_name_plural": "payouts and sweeps",
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("billing.payment",),
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
            name="StripeEvent",
            fields=[
                ("event_id", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("type", models.CharField(max_length=80)),
                ("object_id", models.CharField(max_length=100)),
                ("created_at", models.DateTimeField(help_text="The time that Stripe gives.")),
                ("received_at", models.DateTimeField()),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("done_at", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("last_error", models.CharField(blank=True, max_length=300)),
                (
                    "stray",
                    models.CharField(
                        blank=True,
                        help_text="Why it matches nothing here. An operator checks it at Stripe.",
                        max_length=200,
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
            },
        ),
        migrations.CreateModel(
            name="StripeInvoice",
            fields=[
                ("invoice_id", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("payment_intent", models.CharField(blank=True, db_index=True, max_length=100)),
                (
                    "failed_at",
                    models.DateTimeField(
                        blank=True, help_text="When the owner was told about the failed charge.", null=True
                    ),
                ),
                ("seen_at", models.DateTimeField()),
                (
                    "card",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="invoices",
                        to="billing.cardsubscription",
                    ),
                ),
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
            ],
            options={
                "ordering": ("-seen_at", "-invoice_id"),
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
                        help_text="When currentPeriodEnd was last set. It does not include suspensions after this time."
                    ),
                ),
                (
                    "brought_by",
                    models.JSONField(
                        blank=True,
                        help_text="The payments that led to its plan, with those of earlier subscriptions.",
                        null=True,
                    ),
                ),
                (
                    "parked_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the agent was deleted. The rest of the paid time can be moved to another agent.",
                        null=True,
                    ),
                ),
                (
                    "reminded_at",
                    models.DateTimeField(
                        blank=True, help_text="When the owner was last told that it ends and is not renewed.", null=True
                    ),
                ),
                ("license_fingerprint", models.CharField(blank=True, max_length=64)),
                (
                    "external_ref",
                    models.CharField(blank=True, help_text="The provider's id of the purchase.", max_length=120),
                ),
                (
                    "instance",
                    models.CharField(blank=True, help_text="The provider's id of the activation.", max_length=120),
                ),
                (
                    "activation_asked_at",
                    models.DateTimeField(
                        blank=True, help_text="Since when its provider is being asked for an activation.", null=True
                    ),
                ),
                ("extra", models.DurationField(default=datetime.timedelta(0))),
                (
                    "card_ref",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="The provider's id of the subscription that charges the card.",
                        max_length=120,
                    ),
                ),
                (
                    "stop_card_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the provider is asked to stop charging the card. Null: not needed.",
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
                        blank=True, help_text="When the provider last confirmed that it is paid.", null=True
                    ),
                ),
                (
                    "cancels_there",
                    models.BooleanField(default=False, help_text="The provider reported that it will not renew."),
                ),
                (
                    "unknown_since",
                    models.DateTimeField(blank=True, help_text="Since when the provider does not answer.", null=True),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="subscriptions", to="agents.agent"
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
            name="StripeDispute",
            fields=[
                ("dispute_id", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("status", models.CharField(help_text="The status at Stripe.", max_length=30)),
                ("cents", models.PositiveIntegerField()),
                ("length", models.DurationField(default=datetime.timedelta(0))),
                ("usd", models.DecimalField(decimal_places=10, default=0, max_digits=20)),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[("tiny", "Tiny"), ("small", "Small"), ("medium", "Medium"), ("large", "Large")],
                        help_text="The plan that was paid for.",
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
                ("passed", models.JSONField(blank=True, null=True)),
                (
                    "is_taken",
                    models.BooleanField(default=False, help_text="The paid time is on hold until the bank decides."),
                ),
                ("seen_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
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
            ],
            options={
                "ordering": ("-seen_at", "-dispute_id"),
            },
        ),
        migrations.CreateModel(
            name="Span",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("length", models.DurationField()),
                (
                    "usd",
                    models.DecimalField(
                        decimal_places=10,
                        help_text="What was received for this time. For a gift: the list price.",
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
                (
                    "passed",
                    models.JSONField(
                        blank=True,
                        help_text="Plans between the one it was bought for and the present one: row ids, and microseconds on each.",
                        null=True,
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        help_text="Null until the ledger has the payment.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="spans",
                        to="billing.payment",
                    ),
                ),
                (
                    "subscription",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="spans", to="billing.subscription"
                    ),
                ),
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
            },
        ),
        migrations.AddField(
            model_name="payment",
            name="subscription",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payments",
                to="billing.subscription",
            ),
        ),
        migrations.CreateModel(
            name="Sweep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chain_id", models.BigIntegerField()),
                ("tx_hash", models.CharField(db_default="", max_length=66)),
                ("log_index", models.PositiveIntegerField(db_default=0)),
                ("block", models.BigIntegerField(db_default=0)),
                ("asset", models.CharField(choices=[("usdt", "Usdt"), ("usdc", "Usdc")], max_length=4)),
                (
                    "token",
                    models.CharField(db_default="", help_text="Empty in rows from an earlier release.", max_length=42),
                ),
                ("amount", models.DecimalField(decimal_places=0, max_digits=78)),
                ("actor", models.CharField(max_length=80)),
                ("reason", models.CharField(db_default="", max_length=500)),
                ("at", models.DateTimeField()),
                (
                    "deposit_address",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sweeps", to="billing.depositaddress"
                    ),
                ),
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
                ("name", models.CharField(help_text="The tax's name on the invoice, such as VAT.", max_length=40)),
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
                        help_text="A business in this country that has a tax id pays the tax itself: its invoice has 0 %.",
                    ),
                ),
            ],
            options={
                "ordering": ("country",),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("percent__range", (0, 100))), name="tax_rate_percent")
                ],
            },
        ),
        migrations.CreateModel(
            name="AccountDeletion",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("del",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "stage",
                    models.CharField(
                        choices=[
                            ("asked", "Asked"),
                            ("closing", "Closing"),
                            ("done", "Done"),
                            ("called_off", "Called Off"),
                        ],
                        default="asked",
                        max_length=10,
                    ),
                ),
                ("lang", models.CharField(max_length=8)),
                ("asked_at", models.DateTimeField()),
                ("closes_at", models.DateTimeField(help_text="Until when the owner can cancel the deletion.")),
                (
                    "wound_down_at",
                    models.DateTimeField(
                        blank=True, help_text="When its agents were paused and its renewals cancelled.", null=True
                    ),
                ),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "done_at",
                    models.DateTimeField(
                        blank=True, help_text="When the deletion was finished or cancelled.", null=True
                    ),
                ),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                (
                    "waits_for",
                    models.CharField(
                        blank=True, db_default="", help_text="What the deletion waits for.", max_length=200
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deletions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-asked_at", "-id"),
                "indexes": [
                    models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="deletion_due")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("done_at__isnull", True)), fields=("user",), name="deletion_one_open"
                    )
                ],
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
            name="StrayCharge",
            fields=[
                ("charge_id", models.CharField(max_length=200, primary_key=True, serialize=False)),
                (
                    "payer_id",
                    models.BigIntegerField(blank=True, help_text="The Telegram id of the person who paid.", null=True),
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
                            ("unknown", "for no order of this installation"),
                            ("returned", "refunded before it was counted"),
                            ("asked", "refunded by an operator"),
                            ("coupon", "late, and other orders have used its coupon"),
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
                    models.CharField(blank=True, help_text="The operator who asked for the refund.", max_length=80),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
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
        migrations.AddField(
            model_name="cardsubscription",
            name="order",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="card_subscriptions", to="billing.stripeorder"
            ),
        ),
        migrations.AddIndex(
            model_name="order",
            index=models.Index(fields=["user", "-created_at", "-id"], name="order_user"),
        ),
        migrations.AddIndex(
            model_name="order",
            index=models.Index(
                condition=models.Q(("coupon__isnull", False)), fields=["coupon", "user"], name="order_coupon"
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("refund_of__isnull", False)), fields=["refund_of"], name="payment_refund_of"
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("subscription__isnull", False), models.Q(("unapplied", ""), _negated=True), _connector="OR"
                ),
                name="payment_applied_or_why",
            ),
        ),
        migrations.RunSQL(PAYMENT_REFUSE, PAYMENT_ALLOW),
        migrations.RunSQL(ROWS_REFUSE, ROWS_ALLOW),
        migrations.RunSQL(INVOICE_REFUSE, INVOICE_ALLOW),
        migrations.RunSQL(DEPOSIT_INDEX, NO_DEPOSIT_INDEX),
    ]
