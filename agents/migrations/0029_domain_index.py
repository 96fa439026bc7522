from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):
    """Names whose DNS did not lead here yet are found by their claims now."""

    atomic = False

    dependencies = [("agents", "0028_domains")]

    operations = [RemoveIndexConcurrently(model_name="agent", name="agent_domain_new")]
