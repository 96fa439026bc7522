from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0007_persona_indexes"),
    ]

    operations = [
        migrations.AddField(
            model_name="article",
            name="html",
            field=models.TextField(
                db_default="", default="", editable=False, help_text="Of the body; empty: not made yet."
            ),
        ),
    ]
