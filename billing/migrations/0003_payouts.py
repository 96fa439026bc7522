from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("billing", "0002_console_indexes")]

    operations = [
        migrations.CreateModel(
            name="Payouts",
            fields=[],
            options={
                "verbose_name": "payouts and sweeps",
                "verbose_name_plural": "payouts and sweeps",
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("billing.payment",),
        ),
    ]
