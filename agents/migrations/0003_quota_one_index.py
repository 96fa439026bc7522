"""The second index that Django gives a text key serves `LIKE`, which nobody asks of quotas; without locking the table."""

from django.db import migrations

NAME = "agents_agentquota_agent_id_0693dbc2_like"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("agents", "0002_quota")]

    operations = [
        migrations.RunSQL(
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {NAME} ON agents_agentquota (agent_id varchar_pattern_ops)",
        ),
    ]
