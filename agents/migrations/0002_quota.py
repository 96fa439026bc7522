"""The quota's memory of its last measurements, and a table that is rewritten each minute without growing.

Half of each page stays free, so that a new version of a row finds place beside the old one (a HOT update: no index is
touched).
"""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="agentquota",
            name="recent",
            field=models.CharField(
                blank=True, db_default="", help_text="The last five measurements, a letter each.", max_length=5
            ),
        ),
        migrations.AddField(
            model_name="agentquota",
            name="since",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(), help_text="Since when the status is this one."
            ),
        ),
        migrations.RunSQL(
            "ALTER TABLE agents_agentquota SET (fillfactor = 50)", "ALTER TABLE agents_agentquota RESET (fillfactor)"
        ),
    ]
