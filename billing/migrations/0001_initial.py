import config.crypto
import config.ids
import datetime
import django.db.models.deletion
import functools
from django.conf import settings
from django.db import migrations, models

from billing.migrations._database import PAYMENT_ALLOW, PAYMENT_REFUSE


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0008_term_due_index"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="orders", to="agents.agent"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="orders", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
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
                    "check_at",
                    models.DateTimeField(blank=True, help_text="When the provider is asked again.", null=True),
                ),
                (
                    "cancels_there",
                    models.BooleanField(default=False, help_text="Its provider said that it will not renew."),
                ),
                (
                    "paid_seen_at",
                    models.DateTimeField(
                        blank=True, help_text="When the provider last said that it is paid.", null=True
                    ),
                ),
                (
                    "unknown_since",
                    models.DateTimeField(blank=True, help_text="Since when the provider gives no answer.", null=True),
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
                            ("revoke", "Revoke"),
                            ("key move", "Key Move"),
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
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="payments", to="agents.agent"
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
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payments",
                        to=settings.AUTH_USER_MODEL,
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
            ],
            options={
                "ordering": ("-at", "-id"),
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
                ("ended_at", models.DateTimeField(blank=True, help_text="When it was paid for again.", null=True)),
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
        migrations.AddIndex(
            model_name="order",
            index=models.Index(fields=["agent", "-created_at", "-id"], name="order_agent"),
        ),
        migrations.AddIndex(
            model_name="order",
            index=models.Index(fields=["user", "-created_at", "-id"], name="order_user"),
        ),
        migrations.AddIndex(
            model_name="order",
            index=models.Index(condition=models.Q(("status", "pending")), fields=["expires_at"], name="order_due"),
        ),
        migrations.AddConstraint(
            model_name="order",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "pending")), fields=("agent",), name="order_one_pending"
            ),
        ),
        migrations.AddConstraint(
            model_name="order",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("paid_at__isnull", False), ("status", "paid")),
                    models.Q(models.Q(("status", "paid"), _negated=True), ("paid_at__isnull", True)),
                    _connector="OR",
                ),
                name="order_paid_when",
            ),
        ),
        migrations.AddConstraint(
            model_name="order",
            constraint=models.CheckConstraint(condition=models.Q(("price_usd__gt", 0)), name="order_price"),
        ),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(fields=["agent", "-created_at", "-id"], name="subscription_agent"),
        ),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(fields=["user", "-created_at", "-id"], name="subscription_user"),
        ),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(
                condition=models.Q(("check_at__isnull", False)), fields=["check_at"], name="subscription_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("status__in", ("active", "canceled")),
                    models.Q(
                        ("provider__isnull", True), models.Q(("provider", "internal"), _negated=True), _connector="OR"
                    ),
                ),
                fields=("agent",),
                name="subscription_one_paid",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ("active", "canceled")), ("provider", "internal")),
                fields=("agent",),
                name="subscription_one_internal",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("status__in", ("active", "canceled")), models.Q(("license_fingerprint", ""), _negated=True)
                ),
                fields=("provider", "license_fingerprint"),
                name="subscription_one_key",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("status__in", ("active", "canceled")), models.Q(("external_ref", ""), _negated=True)
                ),
                fields=("provider", "external_ref"),
                name="subscription_one_purchase",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("expired_at__isnull", False), ("status", "expired")),
                    models.Q(("status__in", ("active", "canceled")), ("expired_at__isnull", True)),
                    _connector="OR",
                ),
                name="subscription_expired_when",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "canceled"), _negated=True), ("canceled_at__isnull", False), _connector="OR"
                ),
                name="subscription_canceled_when",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.CheckConstraint(condition=models.Q(("price_usd__gte", 0)), name="subscription_price"),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.CheckConstraint(
                condition=models.Q(("anchor_day__range", (1, 31))), name="subscription_anchor"
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(fields=["agent", "-at", "-id"], name="payment_agent"),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("unapplied", ""), _negated=True), fields=["-at"], name="payment_unapplied"
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.UniqueConstraint(fields=("provider", "external_id"), name="payment_once"),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__isnull", True), ("amount__gt", 0), _connector="OR"), name="payment_amount"
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(condition=models.Q(("over__gte", 0)), name="payment_over"),
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
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["payment", "renewal"]), models.Q(("reason", ""), _negated=True), _connector="OR"
                ),
                name="payment_reason",
            ),
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
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(
                fields=["license_fingerprint"], name="subscription_key", condition=~models.Q(license_fingerprint="")
            ),
        ),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(fields=["external_ref"], name="subscription_ref", condition=~models.Q(external_ref="")),
        ),
        migrations.RunSQL(PAYMENT_REFUSE, PAYMENT_ALLOW),
    ]
