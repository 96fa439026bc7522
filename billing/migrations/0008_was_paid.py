from django.db import migrations

_PAID_ONCE = """
UPDATE agents_agent SET was_paid = true
WHERE id IN (SELECT agent_id FROM billing_subscription) AND NOT was_paid
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0007_deposit_addresses"), ("agents", "0014_trials")]

    operations = [migrations.RunSQL(_PAID_ONCE, migrations.RunSQL.noop)]
