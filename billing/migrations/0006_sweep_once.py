from django.db import migrations, models
from django.db.models import Q

_MAKE = """
CREATE UNIQUE INDEX CONCURRENTLY sweep_once ON billing_sweep (chain_id, tx_hash, log_index) WHERE NOT (tx_hash = '');
"""


class Migration(migrations.Migration):
    atomic = False  # the index is made beside those who write

    dependencies = [
        ("billing", "0005_operators"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_MAKE, "DROP INDEX CONCURRENTLY sweep_once;")],
            state_operations=[
                migrations.AddConstraint(
                    model_name="sweep",
                    constraint=models.UniqueConstraint(
                        fields=("chain_id", "tx_hash", "log_index"), condition=~Q(tx_hash=""), name="sweep_once"
                    ),
                ),
            ],
        ),
    ]
