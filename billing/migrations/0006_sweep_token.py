from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("billing", "0005_order_placed_by_index")]

    operations = [
        migrations.AddField(
            model_name="sweep",
            name="token",
            field=models.CharField(db_default="", help_text="Empty in rows from an earlier release.", max_length=42),
        ),
    ]
