"""A sign-in code belongs to the household that asked for it, in a table of its own.

The table of the release before, with one code per address, stays for processes of that release: nothing in it counts
for longer than an hour. The next release drops `accounts_signincode`.
"""

from functools import partial

import django.contrib.postgres.fields
from django.db import migrations, models

import config.crypto
import config.ids


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_letters")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="SignInCode")]),
        migrations.CreateModel(
            name="SignInCode",
            fields=[
                ("mail_due_at", models.DateTimeField(blank=True, null=True)),
                ("mail_attempts", models.PositiveSmallIntegerField(default=0)),
                ("mailed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "id",
                    models.CharField(
                        default=partial(config.ids.new_id, "cod"),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("email", models.CharField(max_length=254, verbose_name="e-mail")),
                ("household", models.CharField(editable=False, max_length=64)),
                ("inbox", models.CharField(editable=False, max_length=254)),
                ("digest", models.CharField(blank=True, editable=False, max_length=64)),
                ("sealed", config.crypto.EncryptedText(editable=False, null=True)),
                ("lang", models.CharField(max_length=8)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "mails_at",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.DateTimeField(), default=list, editable=False, size=None
                    ),
                ),
                (
                    "signed_in_at",
                    models.DateTimeField(blank=True, help_text="When a right code last came from there.", null=True),
                ),
                ("forget_at", models.DateTimeField(db_index=True)),
            ],
            options={
                "db_table": "accounts_householdcode",
                "ordering": ("-created_at", "-id"),
                "verbose_name": "sign-in code",
                "indexes": [
                    models.Index(
                        condition=models.Q(("mail_due_at__isnull", False)),
                        fields=["mail_due_at"],
                        name="household_mail",
                    ),
                    models.Index(fields=["inbox", "household"], name="household_inbox"),
                ],
                "constraints": [models.UniqueConstraint(fields=("email", "household"), name="one_code_per_household")],
            },
        ),
        migrations.CreateModel(
            name="WrongTry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("email", models.CharField(max_length=254, verbose_name="e-mail")),
                ("household", models.CharField(editable=False, max_length=64)),
                ("network", models.CharField(editable=False, max_length=64)),
                (
                    "strange",
                    models.PositiveSmallIntegerField(
                        help_text="Compared with so many codes that others had asked for."
                    ),
                ),
                ("at", models.DateTimeField(db_index=True)),
            ],
            options={
                "verbose_name_plural": "wrong tries",
                "ordering": ("-at", "-id"),
                "indexes": [models.Index(fields=["email", "at"], name="wrong_try_email")],
            },
        ),
    ]
