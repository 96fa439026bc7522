from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0003_search"),
    ]

    operations = [
        migrations.AddField(
            model_name="llmmodel",
            name="outdated",
            field=models.BooleanField(
                db_default=False, default=False, editable=False, help_text="The last refresh no longer wanted it."
            ),
        ),
        migrations.AddField(
            model_name="llmmodel",
            name="pinned",
            field=models.BooleanField(
                db_default=False, default=False, help_text="No refresh takes it off the catalog."
            ),
        ),
        migrations.AddField(
            model_name="llmmodel",
            name="refreshed_at",
            field=models.DateTimeField(editable=False, help_text="When a refresh last found its prices.", null=True),
        ),
    ]
