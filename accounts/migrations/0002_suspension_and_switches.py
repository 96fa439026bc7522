import functools

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import config.ids


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="Suspension",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, "sus"),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="suspensions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("reason", models.CharField(help_text="For operators; the person never sees it.", max_length=500)),
                ("suspended_at", models.DateTimeField()),
                ("suspended_by", models.CharField(max_length=80)),
                ("restored_at", models.DateTimeField(blank=True, null=True)),
                ("restored_by", models.CharField(blank=True, max_length=80)),
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
            name="Switches",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "sign_ups",
                    models.BooleanField(
                        blank=True,
                        help_text="Whether new accounts can be made. Unknown: as SIGN_UPS_OPEN says.",
                        null=True,
                    ),
                ),
                (
                    "creates",
                    models.BooleanField(
                        blank=True,
                        help_text="Whether agents can be created. Unknown: as CREATES_OPEN says.",
                        null=True,
                    ),
                ),
            ],
            options={"verbose_name": "switches", "verbose_name_plural": "switches"},
        ),
        migrations.AlterField(
            model_name="user",
            name="is_active",
            field=models.BooleanField(
                default=True,
                help_text="Off while the account is suspended: the person's keys and sessions answer 401.",
            ),
        ),
        migrations.AddField(
            model_name="signincode",
            name="inbox",
            field=models.CharField(db_default="", default="", editable=False, max_length=254),
        ),
    ]
