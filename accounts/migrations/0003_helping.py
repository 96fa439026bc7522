from functools import partial

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import config.ids

# A note is added and deleted, with the account of its person, and never changed.
NOTES_STAY = """
CREATE FUNCTION accounts_personnote_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'accounts_personnote is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER accounts_personnote_stays BEFORE UPDATE ON accounts_personnote
    FOR EACH ROW EXECUTE FUNCTION accounts_personnote_stays();
"""
NOTES_MAY_CHANGE = """
DROP TRIGGER accounts_personnote_stays ON accounts_personnote;
DROP FUNCTION accounts_personnote_stays();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_roles")]

    operations = [
        migrations.CreateModel(
            name="PersonNote",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=partial(config.ids.new_id, *("nte",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "author",
                    models.CharField(help_text="The operator's e-mail address when it was written.", max_length=254),
                ),
                ("text", models.TextField()),
                ("at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "note about a person",
                "verbose_name_plural": "notes about people",
                "ordering": ("-at", "-id"),
                "indexes": [models.Index(fields=["user", "-at", "-id"], name="note_newest")],
            },
        ),
        migrations.CreateModel(
            name="StaffLook",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=partial(config.ids.new_id, *("lok",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                (
                    "console",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="The key of the operator's session in the console.",
                        max_length=64,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("began_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField(help_text="When it ends by itself.")),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "places",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200),
                        default=list,
                        help_text="The pages that were looked at.",
                        size=None,
                    ),
                ),
                (
                    "operator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="looks",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "look at an account",
                "verbose_name_plural": "looks at accounts",
                "ordering": ("-began_at", "-id"),
                "permissions": (("see_as_person", "Can see people's pages as they see them"),),
                "indexes": [
                    models.Index(fields=["user", "-began_at", "-id"], name="look_newest"),
                    models.Index(fields=["ends_at"], name="look_open", condition=models.Q(("ended_at__isnull", True))),
                ],
            },
        ),
        migrations.RunSQL(NOTES_STAY, NOTES_MAY_CHANGE),
    ]
