import django.contrib.postgres.indexes
from django.db import migrations, models

from config.migrations._database import AUDIT_ALLOW, AUDIT_REFUSE


class Migration(migrations.Migration):
    dependencies = [
        ("config", "0001_first"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("who", models.CharField(blank=True, help_text="Empty if nobody was signed in.", max_length=254)),
                ("who_id", models.CharField(blank=True, max_length=40, verbose_name="user id")),
                ("address", models.CharField(blank=True, max_length=64)),
                ("verb", models.CharField(max_length=120, verbose_name="what")),
                ("kind", models.CharField(blank=True, max_length=80, verbose_name="kind of object")),
                ("object_id", models.CharField(blank=True, max_length=255)),
                ("label", models.CharField(blank=True, max_length=200, verbose_name="object")),
                ("reason", models.TextField(blank=True)),
                (
                    "changes",
                    models.JSONField(
                        default=list, help_text="Lists of three texts: the field's name, the old and new value."
                    ),
                ),
            ],
            options={
                "verbose_name": "audit log entry",
                "verbose_name_plural": "audit log",
                "ordering": ("-at", "-id"),
                "indexes": [
                    models.Index(fields=["-at", "-id"], name="audit_newest"),
                    models.Index(fields=["verb", "-at", "-id"], name="audit_verb"),
                    models.Index(fields=["who", "-at"], name="audit_who"),
                    models.Index(fields=["who_id", "-at"], name="audit_who_id"),
                    models.Index(fields=["address", "-at"], name="audit_address"),
                    models.Index(fields=["object_id", "-at"], name="audit_object_id"),
                    models.Index(
                        django.contrib.postgres.indexes.OpClass("label", "varchar_pattern_ops"), name="audit_label"
                    ),
                ],
            },
        ),
        migrations.RunSQL(AUDIT_REFUSE, AUDIT_ALLOW),
    ]
