"""The documents of the search, and the triggers that keep them whoever writes a persona or a localization."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

from catalog.migrations._search import MAKE, UNDO

LANGUAGES = [
    ("en", "English"),
    ("ru", "Русский"),
    ("es", "Español"),
    ("pt", "Português"),
    ("tr", "Türkçe"),
    ("ind", "Bahasa Indonesia"),
]

STATE = migrations.CreateModel(
    name="PersonaDocument",
    fields=[
        (
            "pk",
            models.CompositePrimaryKey(
                "persona_id", "lang", blank=True, editable=False, primary_key=True, serialize=False
            ),
        ),
        (
            "persona",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="catalog.persona",
            ),
        ),
        ("lang", models.CharField(choices=LANGUAGES, max_length=3)),
        ("category", models.CharField(max_length=20)),
        ("tier", models.CharField(max_length=20)),
        ("position", models.PositiveIntegerField()),
        ("public", models.BooleanField()),
        ("document", django.contrib.postgres.search.SearchVectorField()),
    ],
    options={
        "default_permissions": (),
        "indexes": [
            django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("public", True)), fastupdate=False, fields=["document"], name="persona_document"
            )
        ],
    },
)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_community")]

    operations = [
        migrations.RunSQL(MAKE, UNDO, state_operations=[STATE]),
        migrations.RunSQL("SELECT catalog_write_documents(id, NULL) FROM catalog_persona", migrations.RunSQL.noop),
    ]
