from django.db import migrations

import config.crypto


class Migration(migrations.Migration):
    dependencies = [
        ("config", "0004_saved_filters"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="operatorsetting",
            options={
                "permissions": [("change_guarded", "Can change who gets the money and who needs a second factor")],
                "verbose_name": "setting",
            },
        ),
        migrations.AddField(
            model_name="operatorsetting",
            name="sealed",
            field=config.crypto.EncryptedText(
                editable=False, help_text="The value of a credential, instead of `value`.", null=True
            ),
        ),
    ]
