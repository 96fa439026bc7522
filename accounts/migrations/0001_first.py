import config.crypto
import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import functools
from django.conf import settings
from django.db import migrations, models

from accounts.migrations._database import NOTES_MAY_CHANGE, NOTES_STAY


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
            name="OAuthClient",
            fields=[
                ("id", models.CharField(max_length=500, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                (
                    "redirect_uris",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=500),
                        help_text="Where people may be sent back.",
                        size=None,
                    ),
                ),
                (
                    "grant_types",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), size=None),
                ),
                ("fetched_at", models.DateTimeField(db_index=True)),
            ],
            options={
                "verbose_name": "OAuth client",
            },
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
                "permissions": (("assign_roles", "Can say who has which role in the console"),),
                "indexes": [
                    models.Index(condition=models.Q(("is_active", False)), fields=["id"], name="user_suspended")
                ],
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
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=8),
                        blank=True,
                        help_text="What the key may do: read, operate, pay. Without scopes it may do what its person may do.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "agent_id",
                    models.CharField(
                        blank=True, help_text="The only agent that the key may see.", max_length=40, null=True
                    ),
                ),
                (
                    "expires_at",
                    models.DateTimeField(blank=True, help_text="When the key stops working by itself.", null=True),
                ),
                (
                    "spend_limit_usd",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="The most that the orders of the key may cost together.",
                        max_digits=10,
                        null=True,
                        verbose_name="spend limit (USD)",
                    ),
                ),
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
                "indexes": [
                    models.Index(
                        models.F("user"),
                        models.OrderBy(models.F("created_at"), descending=True),
                        models.OrderBy(models.F("id"), descending=True),
                        name="apikey_newest_first",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ConsoleSession",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("cns",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("created_at", models.DateTimeField(verbose_name="since")),
                ("seen_at", models.DateTimeField(help_text="Exact to a minute.", verbose_name="last seen")),
                ("address", models.CharField(blank=True, help_text="Where the last request came from.", max_length=64)),
                ("client", models.CharField(blank=True, max_length=60, verbose_name="browser")),
                (
                    "proof",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "password only"),
                            ("app", "authenticator app"),
                            ("passkey", "passkey"),
                            ("recovery", "recovery code"),
                            ("provider", "OIDC provider"),
                        ],
                        max_length=10,
                        verbose_name="second factor",
                    ),
                ),
                ("confirmed_at", models.DateTimeField(help_text="When the person last proved who they are.")),
                ("pending", config.crypto.EncryptedJson(default=dict, editable=False)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="console_sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "indexes": [models.Index(fields=["-created_at", "-id"], name="console_session_newest")],
            },
        ),
        migrations.CreateModel(
            name="Factor",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("fac",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "kind",
                    models.CharField(choices=[("app", "authenticator app"), ("passkey", "passkey")], max_length=10),
                ),
                ("name", models.CharField(max_length=60)),
                ("secret", config.crypto.EncryptedText(editable=False)),
                ("credential", models.CharField(editable=False, max_length=1364, null=True, unique=True)),
                ("counter", models.BigIntegerField(default=0, editable=False)),
                ("created_at", models.DateTimeField(verbose_name="added")),
                ("used_at", models.DateTimeField(blank=True, null=True, verbose_name="last used")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="factors", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "verbose_name": "second factor",
                "ordering": ("created_at", "id"),
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
                "constraints": [
                    models.UniqueConstraint(fields=("user", "method", "path", "key"), name="one_reply_per_key")
                ],
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
                "indexes": [
                    models.Index(
                        condition=models.Q(("mail_due_at__isnull", False)),
                        fields=["mail_due_at"],
                        name="letter_mail_due",
                    ),
                    models.Index(fields=["user", "-written_at", "-id"], name="letter_newest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="OAuthGrant",
            fields=[
                ("digest", models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ("user_code_digest", models.CharField(editable=False, max_length=64, null=True, unique=True)),
                ("client_id", models.CharField(max_length=500)),
                ("client_name", models.CharField(max_length=60)),
                ("scope", models.CharField(blank=True, help_text="What the program asked for.", max_length=60)),
                ("redirect_uri", models.CharField(blank=True, max_length=500)),
                ("code_challenge", models.CharField(blank=True, max_length=128)),
                ("limits", models.JSONField(help_text="The limits of the key, as `POST /keys` takes them.", null=True)),
                ("answered_at", models.DateTimeField(null=True)),
                ("asked_at", models.DateTimeField(help_text="When the program last asked for the key.", null=True)),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "key",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.apikey"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "OAuth grant",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("key__isnull", True), ("limits__isnull", False), _connector="OR"),
                        name="oauth_key_needs_limits",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("answered_at__isnull", True), ("user__isnull", False), _connector="OR"),
                        name="oauth_answer_has_user",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PersonNote",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("nte",), **{}),
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
            name="ProviderIdentity",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("issuer", models.CharField(max_length=255)),
                ("subject", models.CharField(max_length=255)),
                ("gives_roles", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="provider_identity",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "provider identities",
                "constraints": [models.UniqueConstraint(fields=("issuer", "subject"), name="one_person_per_subject")],
            },
        ),
        migrations.CreateModel(
            name="RecoveryCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recovery_codes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
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
            name="StaffLook",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("lok",), **{}),
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
                    models.Index(condition=models.Q(("ended_at__isnull", True)), fields=["ends_at"], name="look_open"),
                ],
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
                "indexes": [models.Index(fields=["user", "-suspended_at"], name="suspension_log")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("restored_at__isnull", True)), fields=("user",), name="one_open_suspension"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WrongFactor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
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
        migrations.RunSQL(NOTES_STAY, NOTES_MAY_CHANGE),
    ]
