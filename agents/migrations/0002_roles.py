from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_first")]

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
