import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="StarsFeed",
            fields=[
                ("bot", models.CharField(max_length=80, primary_key=True, serialize=False)),
                ("seen", models.PositiveBigIntegerField(default=0)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
            ],
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
            },
        ),
        migrations.AddIndex(
            model_name="straycharge",
            index=models.Index(
                condition=models.Q(("refund_at__isnull", False)), fields=["refund_at"], name="stray_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="straycharge",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("refund_at__isnull", True),
                    models.Q(("payer_id__isnull", False), ("refunded_at__isnull", True)),
                    _connector="OR",
                ),
                name="stray_refund_due",
            ),
        ),
    ]
