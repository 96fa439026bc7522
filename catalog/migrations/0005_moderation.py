from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0004_refreshed_models"),
    ]

    operations = [
        migrations.CreateModel(
            name="Review",
            fields=[],
            options={
                "verbose_name": "persona in review",
                "verbose_name_plural": "review queue",
                "ordering": ["published_at", "id"],
                "permissions": [("moderate_persona", "Can pass and take down personas and ban authors")],
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("catalog.persona",),
        ),
    ]
