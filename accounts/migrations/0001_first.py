import config.crypto
import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import functools
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="MailServer",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ("failed_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("usr",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "email",
                    models.CharField(
                        error_messages={"unique": "this address has an account"},
                        max_length=254,
                        unique=True,
                        verbose_name="e-mail",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Off while the account is suspended: requests with the person's keys and sessions then get 401.",
                    ),
                ),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False, help_text="The person may sign in to the admin, with a password."
                    ),
                ),
                ("attribution", models.JSONField(blank=True, help_text="Where the person first came from.", null=True)),
                (
                    "lang",
                    models.CharField(
                        db_default="en",
                        default="en",
                        help_text="The language of the last sign-in, or the one that the person chose.",
                        max_length=8,
                        verbose_name="language",
                    ),
                ),
                (
                    "lang_chosen",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the person chose the language. Then a sign-in does not change it.",
                    ),
                ),
                (
                    "muted_mails",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40),
                        blank=True,
                        help_text="The mails that the person does not want.",
                        null=True,
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "closed_at",
                    models.DateTimeField(
                        blank=True, help_text="When the deletion of the account became final.", null=True
                    ),
                ),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("key",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("prefix", models.CharField(max_length=12)),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="IdempotentReply",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("method", models.CharField(max_length=8)),
                ("path", models.CharField(max_length=255)),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.CharField(editable=False, max_length=64)),
                ("created_at", models.DateTimeField(db_index=True)),
                ("reserved_at", models.DateTimeField()),
                ("status", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("reply", config.crypto.EncryptedJson(editable=False, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "idempotent replies",
            },
        ),
        migrations.CreateModel(
            name="Letter",
            fields=[
                ("mail_due_at", models.DateTimeField(blank=True, null=True)),
                ("mail_attempts", models.PositiveSmallIntegerField(default=0)),
                ("mailed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("ltr",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("email", models.CharField(max_length=254, verbose_name="e-mail")),
                ("subject", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("html", models.TextField(blank=True, null=True)),
                ("lang", models.CharField(max_length=8, verbose_name="language")),
                ("written_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="letters", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ("-written_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("ses",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                (
                    "attribution",
                    models.JSONField(blank=True, help_text="Where the person came from at this sign-in.", null=True),
                ),
                (
                    "client",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="Browser and system, such as Firefox, Linux.",
                        max_length=60,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("seen_at", models.DateTimeField(blank=True, help_text="Last used, exact to an hour.", null=True)),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="SignInCode",
            fields=[
                ("mail_due_at", models.DateTimeField(blank=True, null=True)),
                ("mail_attempts", models.PositiveSmallIntegerField(default=0)),
                ("mailed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("cod",), **{}),
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
                    models.DateTimeField(
                        blank=True, help_text="When the last correct code came from this address.", null=True
                    ),
                ),
                ("forget_at", models.DateTimeField(db_index=True)),
            ],
            options={
                "verbose_name": "sign-in code",
                "db_table": "accounts_householdcode",
                "ordering": ("-created_at", "-id"),
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
            name="Suspension",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("sus",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("reason", models.CharField(help_text="For operators; the person never sees it.", max_length=500)),
                ("suspended_at", models.DateTimeField()),
                ("suspended_by", models.CharField(max_length=80)),
                ("restored_at", models.DateTimeField(blank=True, null=True)),
                ("restored_by", models.CharField(blank=True, max_length=80)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="suspensions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-suspended_at", "-id"),
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
                        help_text="How many codes, requested from other addresses, it was compared with."
                    ),
                ),
                ("at", models.DateTimeField(db_index=True)),
            ],
            options={
                "verbose_name_plural": "wrong sign-in codes",
                "ordering": ("-at", "-id"),
                "indexes": [models.Index(fields=["email", "at"], name="wrong_try_email")],
            },
        ),
        migrations.AddIndex(
            model_name="user",
            index=models.Index(condition=models.Q(("is_active", False)), fields=["id"], name="user_suspended"),
        ),
        migrations.AddIndex(
            model_name="apikey",
            index=models.Index(
                models.F("user"),
                models.OrderBy(models.F("created_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="apikey_newest_first",
            ),
        ),
        migrations.AddConstraint(
            model_name="idempotentreply",
            constraint=models.UniqueConstraint(fields=("user", "method", "path", "key"), name="one_reply_per_key"),
        ),
        migrations.AddIndex(
            model_name="letter",
            index=models.Index(
                condition=models.Q(("mail_due_at__isnull", False)), fields=["mail_due_at"], name="letter_mail_due"
            ),
        ),
        migrations.AddIndex(
            model_name="suspension",
            index=models.Index(fields=["user", "-suspended_at"], name="suspension_log"),
        ),
        migrations.AddConstraint(
            model_name="suspension",
            constraint=models.UniqueConstraint(
                condition=models.Q(("restored_at__isnull", True)), fields=("user",), name="one_open_suspension"
            ),
        ),
    ]
