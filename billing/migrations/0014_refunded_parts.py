from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("billing", "0013_invoices")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="payment",
            name="refund_of",
            field=models.ForeignKey(
                db_index=False,
                help_text="The payment whose money goes back.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="refunds",
                to="billing.payment",
            ),
        ),
        migrations.AddField(
            model_name="subscription",
            name="card_ref",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="The provider's name of what charges the card again and again.",
                max_length=120,
            ),
        ),
        migrations.AddField(
            model_name="subscription",
            name="stop_card_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When the provider is told to charge the card no more; null: it need not be.",
                null=True,
            ),
        ),
    ]
