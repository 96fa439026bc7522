"""Tables for what model calls take and cost, and for the owners' limits. Nothing that is there changes."""

from __future__ import annotations

from decimal import Decimal

import django.db.models.deletion
from django.db import migrations, models


def _count() -> models.BigIntegerField[int, int]:
    return models.BigIntegerField(default=0)


def _usd() -> models.DecimalField[Decimal, Decimal]:
    return models.DecimalField(decimal_places=10, default=Decimal("0"), max_digits=20)


class Migration(migrations.Migration):
    dependencies = [("agents", "0005_starts_of_a_day")]

    operations = [
        migrations.CreateModel(
            name="Spending",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="spending",
                        serialize=False,
                        to="agents.agent",
                    ),
                ),
                (
                    "read_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the pod is asked again. Empty: its agent does not run.",
                        null=True,
                    ),
                ),
                ("day_usd", models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)),
                ("month_usd", models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)),
                ("turn_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("minute_calls", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "is_stopped",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the owner has switched all model calls off.",
                    ),
                ),
                (
                    "told",
                    models.JSONField(
                        db_default={},
                        default=dict,
                        help_text="Which limits the owner was told about, and when.",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SpendingBook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                ("number", models.PositiveIntegerField()),
                ("read_at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="spending_books", to="agents.agent"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ModelUsage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("model", models.CharField(help_text="<provider>:<model name>", max_length=240)),
                (
                    "kind",
                    models.CharField(help_text="What asked for it: chat, a2a, test, shared or engine.", max_length=12),
                ),
                ("session", models.CharField(blank=True, max_length=128)),
                ("calls", _count()),
                ("failed", _count()),
                ("estimated", _count()),
                ("unpriced", _count()),
                ("input", _count()),
                ("cached", _count()),
                ("written", _count()),
                ("output", _count()),
                ("reasoning", _count()),
                ("usd", _usd()),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="model_usage",
                        to="agents.agent",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SpentDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("usd", _usd()),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="spent_days",
                        to="agents.agent",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="spending",
            index=models.Index(condition=models.Q(("read_at__isnull", False)), fields=["read_at"], name="spending_due"),
        ),
        migrations.AddIndex(
            model_name="spendingbook", index=models.Index(fields=["read_at"], name="spending_book_age")
        ),
        migrations.AddConstraint(
            model_name="spendingbook",
            constraint=models.UniqueConstraint(fields=("agent", "name"), name="spending_book_once"),
        ),
        migrations.AddIndex(model_name="modelusage", index=models.Index(fields=["day"], name="model_usage_age")),
        migrations.AddConstraint(
            model_name="modelusage",
            constraint=models.UniqueConstraint(
                fields=("agent", "day", "model", "kind", "session"), name="model_usage_once"
            ),
        ),
        migrations.AddIndex(model_name="spentday", index=models.Index(fields=["day"], name="spent_day_age")),
        migrations.AddConstraint(
            model_name="spentday",
            constraint=models.UniqueConstraint(fields=("agent", "day"), name="spent_day_once"),
        ),
    ]
