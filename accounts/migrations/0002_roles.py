from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_first")]

    operations = [
        migrations.AlterModelOptions(
            name="user",
            options={
                "ordering": ("-created_at", "-id"),
                "permissions": (("assign_roles", "Can say who has which role in the console"),),
            },
        ),
    ]
