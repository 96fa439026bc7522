import functools
from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone
from django.utils.crypto import salted_hmac

import config.ids
from datetime import timedelta


def claim_what_is_there(apps: Any, schema_editor: Any) -> None:
    """Names that lead here are taken for proved: they served already. The others have seven days, as a new claim has."""
    Agent = apps.get_model("agents", "Agent")
    DomainClaim = apps.get_model("agents", "DomainClaim")
    now = timezone.now()
    agents = Agent.objects.filter(domain__isnull=False).exclude(desired="deleted")
    for agent in agents.only("pk", "user_id", "domain", "domain_ready_at").iterator():
        ready = agent.domain_ready_at
        value = salted_hmac("agents.domains", agent.user_id, algorithm="sha256").hexdigest()[:40]
        DomainClaim.objects.create(
            domain=agent.domain,
            user_id=agent.user_id,
            agent=agent,
            value=f"agentpods-{value}",
            status="proved" if ready else "unproved",
            by_address=True,
            claimed_at=now,
            proved_at=ready,
            points_since=ready,
            lapses_at=None if ready else now + timedelta(days=7),
            look_at=now,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0027_listed_names"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CertifiedName",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=253)),
                ("since", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="DomainClaim",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("dom",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("domain", models.CharField(max_length=253)),
                (
                    "value",
                    models.CharField(help_text="What TXT of the name must carry: the account's value.", max_length=80),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("unproved", "Unproved"),
                            ("proved", "Proved"),
                            ("lapsed", "lapsed: never proved"),
                            ("released", "released by its owner"),
                            ("lost", "lost to the account that proved it"),
                        ],
                        default="unproved",
                        max_length=8,
                    ),
                ),
                (
                    "by_address",
                    models.BooleanField(
                        help_text="Whether it serves before it is proved, while its address leads here: nobody else ever held the name."
                    ),
                ),
                ("claimed_at", models.DateTimeField()),
                ("proved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "points_since",
                    models.DateTimeField(blank=True, help_text="Since when its address leads here.", null=True),
                ),
                (
                    "lapses_at",
                    models.DateTimeField(blank=True, help_text="When it ends unless it is proved before.", null=True),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "reserved_until",
                    models.DateTimeField(
                        blank=True, help_text="Until when a released name is still its account's.", null=True
                    ),
                ),
                ("looked_at", models.DateTimeField(blank=True, help_text="When DNS last answered for it.", null=True)),
                ("look_at", models.DateTimeField(blank=True, help_text="When DNS is asked again.", null=True)),
                (
                    "unroute_at",
                    models.DateTimeField(
                        blank=True, help_text="When the cluster's routes of this name are to be taken away.", null=True
                    ),
                ),
            ],
        ),
        migrations.AlterField(
            model_name="agent",
            name="domain_ready_at",
            field=models.DateTimeField(
                blank=True, help_text="Since when its own name may serve and leads here.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="operation",
            field=models.CharField(
                choices=[
                    ("create", "Create"),
                    ("resume", "Resume"),
                    ("rebuild", "Rebuild"),
                    ("restore", "Restore"),
                    ("recovery", "Recovery"),
                    ("owner", "Owner"),
                    ("operator", "Operator"),
                    ("trial", "Trial"),
                    ("payment", "Payment"),
                    ("quota", "Quota"),
                    ("suspended", "Suspended"),
                    ("expiry", "Expiry"),
                    ("domain", "Domain"),
                ],
                default="create",
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="transition",
            name="reason",
            field=models.CharField(
                choices=[
                    ("create", "Create"),
                    ("resume", "Resume"),
                    ("rebuild", "Rebuild"),
                    ("restore", "Restore"),
                    ("recovery", "Recovery"),
                    ("owner", "Owner"),
                    ("operator", "Operator"),
                    ("trial", "Trial"),
                    ("payment", "Payment"),
                    ("quota", "Quota"),
                    ("suspended", "Suspended"),
                    ("expiry", "Expiry"),
                    ("domain", "Domain"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddField(
            model_name="certifiedname",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="domainclaim",
            name="agent",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="domain_claims", to="agents.agent"
            ),
        ),
        migrations.AddField(
            model_name="domainclaim",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddIndex(
            model_name="certifiedname",
            index=models.Index(fields=["user", "since"], name="certified_lately"),
        ),
        migrations.AddConstraint(
            model_name="certifiedname",
            constraint=models.UniqueConstraint(fields=("user", "name"), name="certified_once"),
        ),
        migrations.AddIndex(
            model_name="domainclaim",
            index=models.Index(condition=models.Q(("look_at__isnull", False)), fields=["look_at"], name="domain_look"),
        ),
        migrations.AddIndex(
            model_name="domainclaim",
            index=models.Index(
                condition=models.Q(("unroute_at__isnull", False)), fields=["unroute_at"], name="domain_unroute"
            ),
        ),
        migrations.AddIndex(
            model_name="domainclaim",
            index=models.Index(fields=["domain", "-claimed_at"], name="domain_past"),
        ),
        migrations.AddIndex(
            model_name="domainclaim",
            index=models.Index(
                condition=models.Q(("status", "released")), fields=["user", "reserved_until"], name="domain_reserved"
            ),
        ),
        migrations.AddConstraint(
            model_name="domainclaim",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ("unproved", "proved"))), fields=("domain",), name="domain_held_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="domainclaim",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ("unproved", "proved"))), fields=("agent",), name="domain_one_each"
            ),
        ),
        migrations.RunPython(claim_what_is_there, migrations.RunPython.noop, elidable=True),
    ]
