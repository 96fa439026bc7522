from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="UsedPage",
            fields=[
                (
                    "id",
                    models.TextField(
                        editable=False,
                        help_text="The page's id, a colon and the row's id.",
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("forget_at", models.DateTimeField(db_index=True)),
            ],
        ),
    ]
