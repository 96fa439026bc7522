"""A refund that failed is a kind of row of the ledger."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.migrations.operations.base import Operation

KINDS = [
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
]


class Migration(migrations.Migration):
    dependencies: ClassVar[list[tuple[str, str]]] = [("billing", "0022_span_homes")]

    operations: ClassVar[list[Operation]] = [
        migrations.AlterField(model_name="payment", name="kind", field=models.CharField(choices=KINDS, max_length=10)),
    ]
