"""An index for the orders of a limited API key. It is made without a lock, so the running release goes on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("billing", "0004_orders_of_limited_keys")]

    operations = [
        AddIndexConcurrently(
            model_name="order",
            index=models.Index(
                condition=models.Q(("placed_by__isnull", False)), fields=["placed_by"], name="order_placed_by"
            ),
        ),
    ]
