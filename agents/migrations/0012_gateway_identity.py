from django.db import migrations, models

import config.crypto


class Migration(migrations.Migration):
    dependencies = [("agents", "0011_operator_reason")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="gateway_certificate",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddField(
            model_name="agent",
            name="gateway_key",
            field=config.crypto.EncryptedText(blank=True, null=True),
        ),
    ]
