from django.db import migrations, models

# Agents from before billing: looked at once, and then when something is due.
_DUE_NOW = "UPDATE agents_agent SET term_due_at = now() WHERE desired <> 'deleted'"


class Migration(migrations.Migration):
    dependencies = [("agents", "0006_persona_index")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="term_due_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When billing/lapses.py looks at the agent again; it alone moves this.",
                null=True,
            ),
        ),
        migrations.RunSQL(_DUE_NOW, migrations.RunSQL.noop),
    ]
