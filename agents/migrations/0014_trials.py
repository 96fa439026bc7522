from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_codes_by_household"), ("agents", "0013_own_networks")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="trial_ends_at",
            field=models.DateTimeField(
                blank=True,
                help_text=(
                    "Until when it is free, as promised when it was created. Suspensions of its account postpone it."
                ),
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="was_paid",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether it was ever paid for or granted: then its trial is over.",
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="inbox",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The mailbox of its owner when it was created: trials are counted by it.",
                max_length=254,
            ),
        ),
    ]
