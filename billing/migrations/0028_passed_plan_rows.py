from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from django.db import migrations, models

MOST, AT_ONCE = 16, 500


def share(apps: Any, schema_editor: object) -> None:
    """Each span had a copy of every plan that it had passed: now equal ones are one row."""
    PassedPlan = apps.get_model("billing", "PassedPlan")
    known = dict[str, int]()

    def row_of(plan: dict[str, Any]) -> int:
        columns = {name: plan[name] for name in ("tier", "period", "snapshot", "by")}
        name = json.dumps(columns, sort_keys=True)
        if name not in known:
            known[name] = PassedPlan.objects.create(**columns).pk
        return known[name]

    _write_again(apps, lambda passed: [[row_of(plan), plan["microseconds"]] for plan in passed[-MOST:]])


def copy(apps: Any, schema_editor: object) -> None:
    PassedPlan = apps.get_model("billing", "PassedPlan")
    plans = {plan.pop("id"): plan for plan in PassedPlan.objects.values()}
    _write_again(apps, lambda passed: [{**plans[number], "microseconds": length} for number, length in passed])


def _write_again(apps: Any, changed: Callable[[list[Any]], list[Any]]) -> None:
    for name in ("Span", "StripeDispute"):
        rows = apps.get_model("billing", name).objects.exclude(passed=None)
        for row in rows.iterator(chunk_size=AT_ONCE):
            rows.filter(pk=row.pk).update(passed=changed(row.passed))


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
