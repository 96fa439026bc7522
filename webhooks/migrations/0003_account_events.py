"""The order of an account's events over all of its agents. Old events get their place when the account first reads them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0002_console_indexes")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="account",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        migrations.AddField(
            model_name="event",
            name="place",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.RunSQL("CREATE SEQUENCE webhooks_event_place AS bigint", "DROP SEQUENCE webhooks_event_place"),
    ]
