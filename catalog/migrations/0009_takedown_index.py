from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("catalog", "0008_article_html"),
    ]

    operations = [
        RemoveIndexConcurrently(model_name="takedown", name="takedown_log"),
    ]
