from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_first")]

    operations = [
        migrations.AlterModelOptions(
            name="review",
            options={
                "default_permissions": ("view",),
                "ordering": ["published_at", "id"],
                "permissions": [("moderate_persona", "Can approve and take down personas and ban authors")],
                "verbose_name": "persona in review",
                "verbose_name_plural": "review queue",
            },
        ),
    ]
