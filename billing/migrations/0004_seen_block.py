from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0003_crypto"),
    ]

    operations = [
        migrations.AddField(
            model_name="cryptoorder",
            name="seen_block",
            field=models.BigIntegerField(blank=True, help_text="The block at which so much was seen first.", null=True),
        ),
    ]
