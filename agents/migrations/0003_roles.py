from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agents", "0002_money_indexes")]

    operations = [
        migrations.AlterModelOptions(
            name="agent",
            options={
                "permissions": [
                    ("pause_agent", "Can pause and resume agents"),
                    ("test_agent", "Can test and back up agents"),
                ]
            },
        ),
    ]
