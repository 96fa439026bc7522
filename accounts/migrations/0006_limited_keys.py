"""The limits of API keys. The keys that there are have none: they stay full keys."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_console_sign_in")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="agent_id",
            field=models.CharField(
                blank=True, help_text="The only agent that the key may see.", max_length=40, null=True
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="expires_at",
            field=models.DateTimeField(blank=True, help_text="When the key stops working by itself.", null=True),
        ),
        migrations.AddField(
            model_name="apikey",
            name="scopes",
            field=ArrayField(
                base_field=models.CharField(max_length=8),
                blank=True,
                help_text="What the key may do: read, operate, pay. Without scopes it may do what its person may do.",
                null=True,
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="spend_limit_usd",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="The most that the orders of the key may cost together.",
                max_digits=10,
                null=True,
                verbose_name="spend limit (USD)",
            ),
        ),
    ]
