"""Which limited API key placed an order. Orders that there are were placed by no such key."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("billing", "0003_payouts")]

    operations = [
        migrations.AddField(
            model_name="order",
            name="placed_by",
            field=models.CharField(
                blank=True,
                editable=False,
                help_text="The limited API key that placed the order.",
                max_length=40,
                null=True,
            ),
        ),
    ]
