from __future__ import annotations

import json
from typing import Any, ClassVar

from django.db import migrations, models

MOST, AT_ONCE = 16, 500
TABLES = ("Span", "StripeDispute")


def share(apps: Any, schema_editor: object) -> None:
    """Each span had a copy of every plan that it had passed: now equal ones are one row."""
    plan_rows, known = apps.get_model("billing", "PassedPlan"), dict[str, int]()

    def row_of(plan: dict[str, Any]) -> int:
        columns = {name: plan[name] for name in ("tier", "period", "snapshot", "by")}
        name = json.dumps(columns, sort_keys=True)
        if name not in known:
            known[name] = plan_rows.objects.create(**columns).pk
        return known[name]

    for table in (apps.get_model("billing", name) for name in TABLES):
        for row in table.objects.exclude(passed=None).iterator(chunk_size=AT_ONCE):
            passed = [[row_of(plan), plan["microseconds"]] for plan in row.passed[-MOST:]]
            table.objects.filter(pk=row.pk).update(passed=passed)


def copy(apps: Any, schema_editor: object) -> None:
    plan_rows = apps.get_model("billing", "PassedPlan")
    plans = {plan.pop("id"): plan for plan in plan_rows.objects.values()}
    for table in (apps.get_model("billing", name) for name in TABLES):
        for row in table.objects.exclude(passed=None).iterator(chunk_size=AT_ONCE):
            passed = [{**plans[number], "microseconds": microseconds} for number, microseconds in row.passed]
            table.objects.filter(pk=row.pk).update(passed=passed)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("billing", "0027_passed_plans")]

    operations: ClassVar = [
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
                (
                    "period",
                    models.CharField(choices=[("monthly", "Monthly"), ("annual", "Annual")], max_length=8),
                ),
                ("snapshot", models.JSONField()),
                ("by", models.JSONField(help_text="The payments that brought it.")),
            ],
        ),
        migrations.AlterField(
            model_name="span",
            name="passed",
            field=models.JSONField(
                blank=True,
                help_text="Rows of plans that it was on between that one and the present, and its microseconds there.",
                null=True,
            ),
        ),
        migrations.RunPython(share, copy, elidable=True),
    ]
