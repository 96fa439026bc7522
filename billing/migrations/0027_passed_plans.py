from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("billing", "0026_told_plans"),
    ]

    operations = [
        migrations.AddField(
            model_name="span",
            name="passed",
            field=models.JSONField(
                blank=True,
                help_text="The plans that it was on between that one and the present.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="stripedispute",
            name="passed",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="subscription",
            name="brought_by",
            field=models.JSONField(
                blank=True,
                help_text="The payments that brought its plan, those of subscriptions before it too.",
                null=True,
            ),
        ),
    ]
