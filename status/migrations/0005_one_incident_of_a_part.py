from django.db import migrations, models

INDEX = "incident_one_open_for_each_part"


class Migration(migrations.Migration):
    atomic = False  # the index is made concurrently

    dependencies = [("status", "0004_announcements")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"CREATE UNIQUE INDEX CONCURRENTLY {INDEX} ON status_incident (opened_for)"
                    " WHERE opened_for <> '' AND resolved_at IS NULL",
                    f"DROP INDEX CONCURRENTLY {INDEX}",
                )
            ],
            state_operations=[
                migrations.AddConstraint(
                    model_name="incident",
                    constraint=models.UniqueConstraint(
                        condition=~models.Q(opened_for="") & models.Q(resolved_at__isnull=True),
                        fields=("opened_for",),
                        name=INDEX,
                    ),
                )
            ],
        )
    ]
