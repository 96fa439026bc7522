"""Each agent's trial ends when its owner was told until now, with the suspensions that are over.

In small steps, each a transaction of its own: the release before serves meanwhile. What was done is not done again.
"""

from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

ROWS = 1000

_NEXT = """
SELECT id FROM agents_agent WHERE id > %s ORDER BY id LIMIT %s
"""
_PROMISED = f"""
UPDATE agents_agent agent SET trial_ends_at = created_at + interval '{int(settings.TRIAL_DAYS)} days' + coalesce((
    SELECT sum(restored_at - suspended_at) FROM accounts_suspension
    WHERE user_id = agent.user_id AND restored_at IS NOT NULL AND suspended_at > agent.created_at
        AND suspended_at < agent.created_at + interval '{int(settings.TRIAL_DAYS)} days'
), interval '0')
WHERE id = ANY(%s) AND desired <> 'deleted' AND trial_ends_at IS NULL
"""  # noqa: S608 # a whole number of ours


def promise(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    last = ""
    with schema_editor.connection.cursor() as cursor:
        while True:
            cursor.execute(_NEXT, [last, ROWS])
            ids = [found for (found,) in cursor.fetchall()]
            if not ids:
                return
            cursor.execute(_PROMISED, [ids])
            last = ids[-1]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0005_codes_by_household"), ("agents", "0020_places")]

    operations = [migrations.RunPython(promise, migrations.RunPython.noop)]
