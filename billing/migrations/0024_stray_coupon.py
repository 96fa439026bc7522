from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

REASONS = [
    ("second", "a second charge for a paid order"),
    ("amount", "not the order's amount"),
    ("deleted", "the agent is deleted"),
    ("unknown", "no order of ours"),
    ("returned", "sent back before it was counted"),
    ("asked", "an operator sends it back"),
    ("coupon", "late, and others have used its coupon"),
]


class Migration(migrations.Migration):
    dependencies: ClassVar = [("billing", "0023_came_back")]

    operations: ClassVar = [
        migrations.AlterField("straycharge", "why", models.CharField(choices=REASONS, max_length=10)),
    ]
