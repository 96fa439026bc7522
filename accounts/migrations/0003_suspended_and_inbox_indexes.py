from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0002_suspension_and_switches")]

    operations = [
        AddIndexConcurrently(
            model_name="user",
            index=models.Index(condition=models.Q(("is_active", False)), fields=["id"], name="user_suspended"),
        ),
        AddIndexConcurrently(
            model_name="signincode",
            index=models.Index(fields=["inbox"], name="code_inbox"),
        ),
    ]
