import agents.clusters.api.place
import agents.clusters.models
import agents.runtimes.base
import config.crypto
import config.ids
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
import functools
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

from typing import Any


def no_like_index(apps: Any, schema_editor: Any) -> None:
    """Django gives a text key a second index for `LIKE`, at the end of a migration. Nobody asks that of quotas."""
    schema_editor.deferred_sql.append("DROP INDEX agents_agentquota_agent_id_0693dbc2_like")


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_first"),
        ("accounts", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="AccountSpending",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="spending",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("day_usd", models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)),
                ("month_usd", models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)),
                (
                    "is_stopped",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the owner has switched the model calls of all agents off.",
                    ),
                ),
                (
                    "told",
                    models.JSONField(
                        db_default={}, default=dict, help_text="Which limits the owner was told about, and when."
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Agent",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("agt",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("persona_id", models.CharField(max_length=80)),
                ("name", models.CharField(max_length=80)),
                ("tier", models.CharField(max_length=20)),
                ("engine", models.CharField(max_length=20)),
                (
                    "channels",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), default=list, size=None
                    ),
                ),
                ("lang", models.CharField(default="en", max_length=2)),
                ("timezone", models.CharField(blank=True, max_length=64, null=True)),
                (
                    "soul",
                    models.TextField(
                        help_text="The persona's soul as it was when the agent was created or last rebuilt."
                    ),
                ),
                ("extra_soul", models.TextField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("provisioning", "Provisioning"),
                            ("running", "Running"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                            ("deleted", "Deleted"),
                        ],
                        default="provisioning",
                        max_length=12,
                    ),
                ),
                (
                    "desired",
                    models.CharField(
                        choices=[("running", "Running"), ("stopped", "Stopped"), ("deleted", "Deleted")],
                        default="running",
                        max_length=8,
                    ),
                ),
                (
                    "operation",
                    models.CharField(
                        choices=[
                            ("create", "Create"),
                            ("resume", "Resume"),
                            ("rebuild", "Rebuild"),
                            ("restore", "Restore"),
                            ("move", "Move"),
                            ("recovery", "Recovery"),
                            ("owner", "Owner"),
                            ("operator", "Operator"),
                            ("trial", "Trial"),
                            ("payment", "Payment"),
                            ("quota", "Quota"),
                            ("suspended", "Suspended"),
                            ("expiry", "Expiry"),
                            ("domain", "Domain"),
                            ("backup", "Backup"),
                            ("channel", "Channel"),
                        ],
                        default="create",
                        max_length=12,
                    ),
                ),
                (
                    "settled_status",
                    models.CharField(
                        choices=[
                            ("provisioning", "Provisioning"),
                            ("running", "Running"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                            ("deleted", "Deleted"),
                        ],
                        default="provisioning",
                        max_length=12,
                    ),
                ),
                ("status_since", models.DateTimeField()),
                (
                    "deadline_at",
                    models.DateTimeField(blank=True, help_text="When provisioning is stopped as failed.", null=True),
                ),
                ("cause", models.CharField(blank=True, max_length=20)),
                ("cause_message", models.TextField(blank=True)),
                ("cause_evidence", models.JSONField(blank=True, default=list)),
                ("recoveries", models.PositiveIntegerField(default=0)),
                (
                    "lost_since",
                    models.DateTimeField(
                        blank=True, help_text="Since when a running agent's pod is not healthy.", null=True
                    ),
                ),
                ("was_running", models.BooleanField(default=False, help_text="Whether the pod has ever started.")),
                (
                    "data_expected",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the agent has data. If so, a pod that finds an empty disk fails with the cause DATA_LOST.",
                    ),
                ),
                (
                    "restores",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The backup that the pod must restore.",
                        max_length=40,
                    ),
                ),
                ("slug", models.CharField(max_length=63, unique=True)),
                ("suffix", models.CharField(max_length=24, unique=True)),
                ("generation", models.PositiveIntegerField(default=1)),
                ("dseq", models.CharField(blank=True, max_length=60, null=True)),
                ("endpoint_url", models.CharField(blank=True, max_length=500, null=True)),
                ("spec_revision", models.PositiveIntegerField(default=1)),
                ("management_token", config.crypto.EncryptedText()),
                ("ticket_key", config.crypto.EncryptedText()),
                ("gateway_key", config.crypto.EncryptedText(blank=True, null=True)),
                ("gateway_certificate", models.TextField(blank=True, db_default="", default="")),
                (
                    "engine_key",
                    config.crypto.EncryptedText(help_text="The engine's encryption key. The API never returns it."),
                ),
                ("dash_username", models.CharField(blank=True, max_length=80, null=True)),
                ("dash_password", config.crypto.EncryptedText(blank=True, null=True)),
                ("reconcile_at", models.DateTimeField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("lease_token", models.CharField(blank=True, max_length=40)),
                ("attempts", models.PositiveIntegerField(default=0)),
                (
                    "trial_ends_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="The end of the free time, as promised at the creation. Suspensions of the account postpone it.",
                        null=True,
                    ),
                ),
                (
                    "was_paid",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the agent was ever paid or granted: then its trial is over.",
                    ),
                ),
                (
                    "inbox",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The owner's mailbox when the agent was created. Trials are counted per mailbox.",
                        max_length=254,
                    ),
                ),
                ("paid", models.BooleanField(default=False)),
                ("entitled_until", models.DateTimeField(blank=True, null=True)),
                ("trial_notice_day", models.SmallIntegerField(blank=True, null=True)),
                (
                    "term_due_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When billing/dunning.py checks the agent again. Only it changes this.",
                        null=True,
                    ),
                ),
                ("llm_provider", models.CharField(blank=True, max_length=20, null=True)),
                ("llm_key", config.crypto.EncryptedText(blank=True, null=True)),
                ("llm_key_hash", models.CharField(blank=True, max_length=64, null=True)),
                (
                    "llm_key_checked",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Whether the provider accepted the key when it was installed.",
                    ),
                ),
                ("model", models.CharField(blank=True, max_length=200, null=True)),
                ("tools_enabled", models.JSONField(blank=True, default=None, null=True)),
                ("mcp_servers", config.crypto.EncryptedJson(default=list)),
                (
                    "tool_secrets",
                    config.crypto.EncryptedJson(
                        blank=True,
                        default=None,
                        help_text="The owner's keys for the services that the agent's tools use, by service.",
                        null=True,
                    ),
                ),
                ("channel_secrets", config.crypto.EncryptedJson(default=dict)),
                ("a2a_enabled", models.BooleanField(default=False)),
                ("a2a_listed", models.BooleanField(default=False)),
                ("a2a_token", config.crypto.EncryptedText(blank=True, null=True)),
                ("a2a_peers", config.crypto.EncryptedJson(blank=True, default=None, null=True)),
                ("domain", models.CharField(blank=True, max_length=253, null=True)),
                (
                    "domain_ready_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="Since when the agent's own domain is allowed to work and points here.",
                        null=True,
                    ),
                ),
                (
                    "backup_due_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the next nightly backup is due. agents/backups/nightly.py changes this.",
                        null=True,
                    ),
                ),
                ("last_backup_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="agents", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "permissions": [
                    ("pause_agent", "Can pause and resume agents"),
                    ("test_agent", "Can test and back up agents"),
                ],
                "indexes": [
                    models.Index(fields=["user", "-created_at", "-id"], name="agent_owner"),
                    models.Index(fields=["-created_at", "-id"], name="agent_newest"),
                    models.Index(
                        condition=models.Q(("reconcile_at__isnull", False)), fields=["reconcile_at"], name="agent_due"
                    ),
                    models.Index(
                        condition=models.Q(("term_due_at__isnull", False)),
                        fields=["term_due_at"],
                        name="agent_term_due",
                    ),
                    models.Index(
                        condition=models.Q(
                            models.Q(
                                ("status", "provisioning"),
                                models.Q(
                                    models.Q(("desired", models.F("status")), _negated=True),
                                    models.Q(("desired", "running"), ("status", "failed"), _negated=True),
                                ),
                                _connector="OR",
                            ),
                            ("reconcile_at__isnull", True),
                        ),
                        fields=["id"],
                        name="agent_forgotten",
                    ),
                    models.Index(
                        condition=models.Q(("backup_due_at__isnull", False)),
                        fields=["backup_due_at"],
                        name="agent_backup_due",
                    ),
                    models.Index(
                        condition=models.Q(("desired", "running"), ("status", "running")),
                        fields=["last_backup_at"],
                        name="agent_backup_age",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("desired", "running"),
                            ("llm_key_hash__isnull", False),
                            ("status", "running"),
                            models.Q(("channels__contained_by", ["web"]), _negated=True),
                        ),
                        fields=["id"],
                        name="agent_listening",
                    ),
                    models.Index(
                        condition=models.Q(("status", "deleted"), _negated=True),
                        fields=["desired", "status"],
                        name="agent_live",
                    ),
                    models.Index(
                        condition=models.Q(("desired", "running"), ("status", "running")),
                        fields=["entitled_until"],
                        name="agent_end",
                    ),
                    models.Index(
                        condition=models.Q(("desired", "stopped"), ("paid", True)),
                        fields=["status_since"],
                        name="agent_paid_stopped",
                    ),
                    models.Index(
                        condition=models.Q(("operation", "suspended")), fields=["user"], name="agent_suspended"
                    ),
                    models.Index(
                        condition=models.Q(("paid", False), models.Q(("desired", "deleted"), _negated=True)),
                        fields=["user"],
                        name="agent_free",
                    ),
                    models.Index(fields=["inbox", "created_at"], name="agent_trials"),
                    models.Index(
                        condition=models.Q(("a2a_enabled", True), ("a2a_listed", True), ("status", "running")),
                        fields=["-created_at", "-id"],
                        name="agent_listed",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        django.contrib.postgres.search.SearchVector("name", config="simple"),
                        condition=models.Q(("a2a_enabled", True), ("a2a_listed", True), ("status", "running")),
                        name="agent_listed_name",
                    ),
                    models.Index(
                        condition=models.Q(("desired", "deleted"), _negated=True),
                        fields=["persona_id"],
                        name="agent_persona",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("desired", "deleted"), _negated=True),
                        fields=("domain",),
                        name="agent_domain_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        max_length=40,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$", "Lower-case letters, digits and dashes."
                            )
                        ],
                    ),
                ),
                ("region", models.CharField(blank=True, max_length=40)),
                (
                    "capacity",
                    models.PositiveIntegerField(
                        default=100,
                        help_text="The largest number of agents on this cluster.",
                        validators=[django.core.validators.MinValueValidator(0)],
                    ),
                ),
                (
                    "cordoned",
                    models.BooleanField(
                        default=False, help_text="No new agent is placed on this cluster. Agents that are on it stay."
                    ),
                ),
                (
                    "kubeconfig",
                    config.crypto.EncryptedText(
                        blank=True,
                        help_text="Empty: the cluster in which Agentpods itself runs, with the service accounts of Agentpods.",
                        null=True,
                    ),
                ),
                (
                    "routing",
                    models.CharField(
                        choices=[
                            (
                                agents.clusters.api.place.Routing["GATEWAY"],
                                agents.clusters.api.place.Routing["GATEWAY"],
                            ),
                            (
                                agents.clusters.api.place.Routing["INGRESS"],
                                agents.clusters.api.place.Routing["INGRESS"],
                            ),
                            (agents.clusters.api.place.Routing["NONE"], agents.clusters.api.place.Routing["NONE"]),
                        ],
                        default=agents.clusters.api.place.Routing["GATEWAY"],
                        help_text="How visitors reach the pods.",
                        max_length=8,
                    ),
                ),
                (
                    "gateway",
                    models.CharField(
                        blank=True,
                        help_text="namespace/name of the shared Gateway.",
                        max_length=200,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^$|^[a-z0-9-]+/[a-z0-9-]+(/[a-z0-9-]+)?$",
                                "namespace/name, or namespace/name/listener.",
                            )
                        ],
                    ),
                ),
                ("ingress_class", models.CharField(blank=True, max_length=60)),
                (
                    "router_namespace",
                    models.CharField(
                        blank=True,
                        help_text="The namespace of the ingress or gateway pods, which pass visitors on.",
                        max_length=63,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^$|^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", "The name of a namespace."
                            )
                        ],
                    ),
                ),
                (
                    "router_ports",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveIntegerField(
                            validators=[
                                django.core.validators.MinValueValidator(1),
                                django.core.validators.MaxValueValidator(65535),
                            ]
                        ),
                        blank=True,
                        db_default=[80, 443, 10080, 10443],
                        default=agents.clusters.models.usual_router_ports,
                        help_text="Ports on which these pods accept visitors, and nothing else. Agents can connect to these ports. So they reach each other's public names if the cluster sends its own public address directly to these pods.",
                        size=20,
                    ),
                ),
                (
                    "control_namespace",
                    models.CharField(
                        blank=True,
                        help_text="The namespace of Agentpods itself, if it runs in this cluster.",
                        max_length=63,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^$|^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", "The name of a namespace."
                            )
                        ],
                    ),
                ),
                (
                    "control_cidrs",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=43),
                        blank=True,
                        default=list,
                        help_text="Networks from which Agentpods connects, if it runs elsewhere.",
                        size=None,
                    ),
                ),
                (
                    "own_cidrs",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=43),
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text="This cluster's own networks: nodes, pods, services and API server. Pods cannot connect to them. Private networks are always closed. The action Check lists public addresses that are missing here.",
                        size=None,
                    ),
                ),
                (
                    "visitors_authority",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The certificate authority for the hostnames of agents (PEM), if it is not a public one.",
                        validators=[agents.clusters.models.check_authority],
                    ),
                ),
                (
                    "certificate_issuer",
                    models.CharField(
                        blank=True,
                        help_text="The ClusterIssuer of cert-manager for customers' own hostnames.",
                        max_length=60,
                    ),
                ),
                (
                    "storage_class",
                    models.CharField(blank=True, help_text="Empty: the cluster's default.", max_length=60),
                ),
                ("runtime_class", models.CharField(blank=True, help_text="For example gvisor or kata.", max_length=60)),
                (
                    "tier_runtime_classes",
                    models.JSONField(
                        blank=True,
                        db_default={},
                        default=dict,
                        help_text='Runtime classes for some plans, such as {"tiny": "gvisor"}; "" means the default of the nodes. Pods of other plans use the class above.',
                    ),
                ),
                ("node_selector", models.JSONField(blank=True, default=dict)),
                ("tolerations", models.JSONField(blank=True, default=list)),
                (
                    "priority_class",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The priority class of agents' pods.",
                        max_length=63,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^(?!system-)[a-z0-9.-]*$", "A priority class of your own: not one of the system."
                            )
                        ],
                    ),
                ),
                (
                    "pod_annotations",
                    models.JSONField(
                        blank=True,
                        db_default={},
                        default=dict,
                        help_text='Annotations of agents\' pods, such as {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}.',
                    ),
                ),
                (
                    "dns_peers",
                    models.JSONField(
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text='The DNS servers of pods, as peers of a network policy, such as [{"ipBlock": {"cidr": "169.254.20.10/32"}}] for NodeLocal DNS. Empty: the pods with the label k8s-app=kube-dns.',
                    ),
                ),
                (
                    "dns_port",
                    models.PositiveIntegerField(
                        db_default=53,
                        default=53,
                        help_text="The port of these DNS servers. On OpenShift: 5353.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(65535),
                        ],
                    ),
                ),
                (
                    "pull_policy",
                    models.CharField(
                        choices=[("IfNotPresent", "If Not Present"), ("Always", "Always"), ("Never", "Never")],
                        default="IfNotPresent",
                        max_length=12,
                    ),
                ),
                (
                    "pull_secret",
                    config.crypto.EncryptedText(
                        blank=True, help_text="A Docker configuration (JSON) for private images.", null=True
                    ),
                ),
                (
                    "stats_through_api",
                    models.BooleanField(
                        default=False,
                        help_text="Measure nodes through the API server. Needs the right nodes/proxy, which allows more than reading.",
                    ),
                ),
                (
                    "observer",
                    models.CharField(blank=True, help_text="The observer that holds the lease.", max_length=40),
                ),
                ("observer_until", models.DateTimeField(blank=True, null=True)),
                (
                    "observed_at",
                    models.DateTimeField(
                        blank=True, help_text="When the API server last answered the observer.", null=True
                    ),
                ),
                (
                    "network_policies",
                    models.CharField(
                        choices=[("unknown", "Unknown"), ("enforced", "Enforced"), ("ignored", "Ignored")],
                        default="unknown",
                        help_text="What the last check found.",
                        max_length=8,
                    ),
                ),
                (
                    "findings",
                    models.JSONField(blank=True, default=list, help_text="Problems that the last check found."),
                ),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "breached_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When a protecting object was last found missing or changed. It was restored.",
                        null=True,
                    ),
                ),
                (
                    "breach",
                    models.TextField(blank=True, db_default="", default="", help_text="The object that was restored."),
                ),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="AgentQuota",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="quota_snapshot",
                        serialize=False,
                        to="agents.agent",
                    ),
                ),
                ("memory_used_bytes", models.BigIntegerField(null=True)),
                ("memory_limit_bytes", models.BigIntegerField(null=True)),
                ("disk_used_bytes", models.BigIntegerField(null=True)),
                ("disk_total_bytes", models.BigIntegerField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[("ok", "Ok"), ("warn", "Warn"), ("grace", "Grace"), ("paused", "Paused")],
                        default="ok",
                        max_length=6,
                    ),
                ),
                (
                    "recent",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="The last five measurements, one letter for each.",
                        max_length=5,
                    ),
                ),
                (
                    "since",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="Since when the agent has this status.",
                    ),
                ),
                ("updated_at", models.DateTimeField()),
                ("hour_memory_bytes", models.BigIntegerField(null=True)),
                ("hour_disk_bytes", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Egress",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="egress",
                        serialize=False,
                        to="agents.agent",
                    ),
                ),
                (
                    "is_limited",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the engine may ask the hosts of the list alone.",
                    ),
                ),
                (
                    "hosts",
                    models.JSONField(db_default=[], default=list, help_text="The list: names, also as *.example.com."),
                ),
                (
                    "secrets",
                    config.crypto.EncryptedJson(
                        default=list,
                        help_text="Each with name, hosts, header, prefix, value and set_at; encrypted as one text.",
                    ),
                ),
                (
                    "is_walled",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the pod has told that its engine is walled in.",
                    ),
                ),
                (
                    "book",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="Of the gateway's log.", max_length=40
                    ),
                ),
                (
                    "number",
                    models.PositiveIntegerField(db_default=0, default=0, help_text="Of the last batch that was added."),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Backup",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("bkp",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("asked", "Asked"),
                            ("nightly", "Nightly"),
                            ("rebuild", "Rebuild"),
                            ("stop", "Stop"),
                            ("final", "Final"),
                        ],
                        max_length=12,
                    ),
                ),
                ("namespace", models.CharField(help_text="The pod that makes it.", max_length=63)),
                (
                    "generation",
                    models.PositiveIntegerField(help_text="The agent's generation when the backup was requested."),
                ),
                ("actor", models.CharField(max_length=80)),
                (
                    "stage",
                    models.CharField(
                        choices=[
                            ("wanted", "Wanted"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("removed", "Removed"),
                        ],
                        default="wanted",
                        max_length=8,
                    ),
                ),
                ("asked_at", models.DateTimeField()),
                (
                    "taken_at",
                    models.DateTimeField(blank=True, help_text="When restic began to read the data.", null=True),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "look_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the next step is due. Null: the backup waits for its turn, or has ended.",
                        null=True,
                    ),
                ),
                (
                    "misses",
                    models.PositiveIntegerField(default=0, help_text="How many times in a row its pod did not answer."),
                ),
                (
                    "credential",
                    config.crypto.EncryptedText(
                        blank=True, help_text="The credential with which the pod writes the backup.", null=True
                    ),
                ),
                ("snapshot", models.CharField(blank=True, max_length=64)),
                ("size", models.BigIntegerField(default=0)),
                (
                    "broken",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        help_text="Number of databases that were locked or damaged during the backup.",
                    ),
                ),
                ("note", models.TextField(blank=True, help_text="Why it failed, or what is wrong with it.")),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="backups", to="agents.agent"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("stage", "done")), fields=["agent", "-taken_at", "-id"], name="backup_there"
                    ),
                    models.Index(fields=["-asked_at", "-id"], name="backup_newest"),
                    models.Index(
                        condition=models.Q(("stage", "failed")), fields=["-asked_at", "-id"], name="backup_failed"
                    ),
                    models.Index(condition=models.Q(("look_at__isnull", False)), fields=["look_at"], name="backup_due"),
                    models.Index(
                        condition=models.Q(("stage", "wanted")), fields=["asked_at", "id"], name="backup_waiting"
                    ),
                    models.Index(condition=models.Q(("stage", "running")), fields=["taken_at"], name="backup_running"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "name"), name="backup_name"),
                    models.UniqueConstraint(
                        condition=models.Q(("stage__in", ["wanted", "running"])),
                        fields=("agent",),
                        name="backup_open_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CertifiedName",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=253)),
                ("since", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["user", "since"], name="certified_lately")],
                "constraints": [models.UniqueConstraint(fields=("user", "name"), name="certified_once")],
            },
        ),
        migrations.CreateModel(
            name="ChannelState",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("channel", models.CharField(max_length=20)),
                (
                    "look_at",
                    models.DateTimeField(
                        blank=True, help_text="When the pod is asked again. Empty: there is nothing to ask.", null=True
                    ),
                ),
                (
                    "heard_from_at",
                    models.DateTimeField(
                        blank=True, help_text="When the pod last reported the state of the channel.", null=True
                    ),
                ),
                (
                    "revision",
                    models.PositiveIntegerField(
                        default=0, help_text="The revision of the configuration that the pod had then."
                    ),
                ),
                ("since", models.DateTimeField(blank=True, help_text="Since when the channel is silent.", null=True)),
                (
                    "reason",
                    models.CharField(blank=True, help_text="Why it is silent, as the pod reported it.", max_length=300),
                ),
                (
                    "told_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the silence was reported. Short silences are not reported.",
                        null=True,
                    ),
                ),
                (
                    "mailed_at",
                    models.DateTimeField(blank=True, help_text="When the owner last got a mail about it.", null=True),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="channel_states",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("look_at__isnull", False)), fields=["look_at"], name="channel_look"
                    )
                ],
                "constraints": [models.UniqueConstraint(fields=("agent", "channel"), name="channel_once")],
            },
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
                    models.CharField(
                        help_text="The account's value, which the TXT record of the name must have.", max_length=80
                    ),
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
                        help_text="Whether the domain works before it is proved, if its DNS address points here. Only for a name that no other account has ever held."
                    ),
                ),
                ("claimed_at", models.DateTimeField()),
                ("proved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "points_since",
                    models.DateTimeField(
                        blank=True, help_text="Since when the DNS address of the domain points here.", null=True
                    ),
                ),
                (
                    "lapses_at",
                    models.DateTimeField(
                        blank=True, help_text="When the claim ends if the domain is not proved before.", null=True
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "reserved_until",
                    models.DateTimeField(
                        blank=True, help_text="Until when a released name is reserved for its account.", null=True
                    ),
                ),
                (
                    "looked_at",
                    models.DateTimeField(blank=True, help_text="When DNS last answered for the name.", null=True),
                ),
                ("look_at", models.DateTimeField(blank=True, help_text="When DNS is queried again.", null=True)),
                (
                    "unroute_at",
                    models.DateTimeField(
                        blank=True, help_text="When the routes of this name are removed from the cluster.", null=True
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="domain_claims", to="agents.agent"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("look_at__isnull", False)), fields=["look_at"], name="domain_look"
                    ),
                    models.Index(
                        condition=models.Q(("unroute_at__isnull", False)), fields=["unroute_at"], name="domain_unroute"
                    ),
                    models.Index(fields=["domain", "-claimed_at"], name="domain_past"),
                    models.Index(
                        condition=models.Q(("status", "released")),
                        fields=["user", "reserved_until"],
                        name="domain_reserved",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ("unproved", "proved"))),
                        fields=("domain",),
                        name="domain_held_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ("unproved", "proved"))),
                        fields=("agent",),
                        name="domain_one_each",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EgressHost",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                (
                    "host",
                    models.CharField(
                        help_text="Name and port, or * for those beyond the limit of a day.", max_length=260
                    ),
                ),
                ("is_refused", models.BooleanField(default=False)),
                ("count", models.BigIntegerField(default=0)),
                ("sent", models.BigIntegerField(default=0, help_text="Bytes from the engine.")),
                ("received", models.BigIntegerField(default=0, help_text="Bytes from the host.")),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="egress_hosts",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["day"], name="egress_host_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "day", "host", "is_refused"), name="egress_host_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="InboundMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("channel", models.CharField(max_length=20)),
                (
                    "name",
                    models.CharField(help_text="The message's id at its service, such as WhatsApp.", max_length=200),
                ),
                (
                    "body",
                    config.crypto.EncryptedText(
                        help_text="The message as the engine reads it. Deleted when the message is delivered or dropped.",
                        null=True,
                    ),
                ),
                ("received_at", models.DateTimeField()),
                (
                    "due_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="The time of the next attempt. Empty: the message was delivered or dropped.",
                        null=True,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("last_error", models.CharField(blank=True, default="", max_length=300)),
                (
                    "ended",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("handed_over", "handed over to the engine"),
                            ("dropped", "dropped: the engine could not receive it in time"),
                        ],
                        default="",
                        max_length=12,
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "agent",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="agents.agent"),
                ),
            ],
            options={
                "ordering": ("pk",),
                "indexes": [
                    models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="inbound_due"),
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["agent", "id"], name="inbound_waiting"
                    ),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", False)), fields=["ended_at"], name="inbound_ended"
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("agent", "channel", "name"), name="inbound_once")],
            },
        ),
        migrations.CreateModel(
            name="KeptLog",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "life",
                    models.CharField(
                        help_text="The id of the pod's log. The ids of one agent sort by time.", max_length=24
                    ),
                ),
                ("base", models.BigIntegerField(help_text="Offset of the first byte in the pod's log.")),
                ("size", models.PositiveIntegerField(help_text="Size in bytes, before packing.")),
                (
                    "packed",
                    models.BinaryField(
                        help_text="Whole lines as the gateway keeps them: secrets are masked, and zlib packs them."
                    ),
                ),
                ("kept_at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="kept_logs", to="agents.agent"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("agent", "life"), name="kept_log_once")],
            },
        ),
        migrations.CreateModel(
            name="ModelUsage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("model", models.CharField(help_text="<provider>:<model name>", max_length=240)),
                (
                    "kind",
                    models.CharField(help_text="What asked for it: chat, a2a, test, shared or engine.", max_length=12),
                ),
                ("session", models.CharField(blank=True, max_length=128)),
                ("calls", models.BigIntegerField(default=0)),
                ("failed", models.BigIntegerField(default=0)),
                ("estimated", models.BigIntegerField(default=0)),
                ("unpriced", models.BigIntegerField(default=0)),
                ("input", models.BigIntegerField(default=0)),
                ("cached", models.BigIntegerField(default=0)),
                ("written", models.BigIntegerField(default=0)),
                ("output", models.BigIntegerField(default=0)),
                ("reasoning", models.BigIntegerField(default=0)),
                ("usd", models.DecimalField(decimal_places=10, default=Decimal("0"), max_digits=20)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="model_usage",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["day"], name="model_usage_age")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("agent", "day", "model", "kind", "session"), name="model_usage_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Placement",
            fields=[
                ("agent_id", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "move",
                    models.CharField(
                        blank=True,
                        choices=[("asked", "Asked"), ("begun", "Begun"), ("over", "Over")],
                        db_default="",
                        default="",
                        max_length=5,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="placements", to="agents.cluster"
                    ),
                ),
                (
                    "other",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="moves",
                        to="agents.cluster",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("other__isnull", False)), fields=["other"], name="placement_other")
                ],
            },
        ),
        migrations.CreateModel(
            name="Pod",
            fields=[
                ("namespace", models.CharField(max_length=63, primary_key=True, serialize=False)),
                ("agent_id", models.CharField(max_length=40)),
                (
                    "public_url",
                    models.CharField(
                        blank=True, help_text="Null: visitors use the pod's own address.", max_length=300, null=True
                    ),
                ),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "phase",
                    models.CharField(
                        choices=[
                            (agents.runtimes.base.Phase["INSTALLING"], agents.runtimes.base.Phase["INSTALLING"]),
                            (agents.runtimes.base.Phase["RESTORING"], agents.runtimes.base.Phase["RESTORING"]),
                            (agents.runtimes.base.Phase["STARTING"], agents.runtimes.base.Phase["STARTING"]),
                            (agents.runtimes.base.Phase["READY"], agents.runtimes.base.Phase["READY"]),
                            (agents.runtimes.base.Phase["UNHEALTHY"], agents.runtimes.base.Phase["UNHEALTHY"]),
                            (agents.runtimes.base.Phase["FAILED"], agents.runtimes.base.Phase["FAILED"]),
                            (agents.runtimes.base.Phase["STOPPED"], agents.runtimes.base.Phase["STOPPED"]),
                        ],
                        default=agents.runtimes.base.Phase["STARTING"],
                        max_length=12,
                    ),
                ),
                ("gateway_alive", models.BooleanField(default=False)),
                ("revision", models.PositiveIntegerField(blank=True, null=True)),
                ("restarts", models.PositiveIntegerField(default=0)),
                ("cause", models.CharField(blank=True, max_length=20, null=True)),
                ("message", models.TextField(blank=True, null=True)),
                ("evidence", models.JSONField(blank=True, default=list)),
                ("since", models.DateTimeField(blank=True, null=True)),
                ("pod_ip", models.GenericIPAddressField(blank=True, null=True)),
                (
                    "kept",
                    models.JSONField(
                        blank=True,
                        help_text="Digests of the pod's objects, as the driver last applied them.",
                        null=True,
                    ),
                ),
                (
                    "seen",
                    models.JSONField(
                        blank=True,
                        help_text="Digests of the same objects, as the observer sees them. Null: unknown.",
                        null=True,
                    ),
                ),
                (
                    "secrets",
                    models.JSONField(
                        blank=True,
                        help_text="Identities of the pod's Secrets, as the driver received them. Null: unknown.",
                        null=True,
                    ),
                ),
                (
                    "secrets_seen",
                    models.JSONField(
                        blank=True, help_text="Identities of the Secrets that exist now. Null: unknown.", null=True
                    ),
                ),
                (
                    "astray",
                    models.JSONField(
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text="Objects that were found missing or changed, and are not reported yet.",
                    ),
                ),
                (
                    "deployed",
                    models.CharField(
                        blank=True,
                        help_text="Hash of the workload that was last found complete.",
                        max_length=40,
                        null=True,
                    ),
                ),
                ("deployed_at", models.DateTimeField(blank=True, help_text="When it was found complete.", null=True)),
                (
                    "bridge_bytes",
                    models.BigIntegerField(
                        blank=True,
                        help_text="Memory of the pod's bridge, as the bridge reported it at its start. Null: unknown.",
                        null=True,
                    ),
                ),
                (
                    "disk_bytes",
                    models.BigIntegerField(
                        blank=True, help_text="The last measured size. A stopped pod is not measured.", null=True
                    ),
                ),
                (
                    "logs_kept_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the end of the pod's log was last copied, to keep it after the pod is gone.",
                        null=True,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="pods", to="agents.cluster"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["cluster", "namespace"], name="pod_cluster"),
                    models.Index(
                        models.OrderBy(models.F("logs_kept_at"), nulls_first=True),
                        condition=models.Q(("gateway_alive", True)),
                        name="pod_logs",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReplayEntry",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=functools.partial(config.ids.new_id, *("rpl",), **{}),
                        editable=False,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("kind", models.CharField(max_length=20)),
                ("door", models.CharField(blank=True, max_length=20)),
                ("session", models.CharField(blank=True, max_length=128)),
                (
                    "turn",
                    models.CharField(
                        blank=True, help_text="The same for all that happened in one turn.", max_length=16
                    ),
                ),
                ("model", models.CharField(blank=True, help_text="<provider>:<model name>", max_length=240)),
                ("input", models.PositiveIntegerField(null=True)),
                ("cached", models.PositiveIntegerField(null=True)),
                ("output", models.PositiveIntegerField(null=True)),
                ("is_estimated", models.BooleanField(default=False)),
                ("usd", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("ms", models.PositiveIntegerField(null=True)),
                ("hop", models.CharField(blank=True, help_text="Who failed: gateway, engine or model.", max_length=20)),
                ("cause", models.CharField(blank=True, help_text="A word of `explain`.", max_length=20)),
                ("tool", models.CharField(blank=True, max_length=84)),
                (
                    "texts",
                    config.crypto.EncryptedJson(
                        help_text="The beginnings of `asked`, `answered`, `arguments` and `error`.", null=True
                    ),
                ),
                (
                    "count",
                    models.PositiveIntegerField(help_text="How many entries of this day were not kept.", null=True),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="replay",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["agent", "-created_at", "-id"], name="replay_list"),
                    models.Index(fields=["agent", "session", "-created_at", "-id"], name="replay_session"),
                    models.Index(fields=["created_at"], name="replay_age"),
                ],
            },
        ),
        migrations.CreateModel(
            name="SpendingBook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                ("number", models.PositiveIntegerField()),
                ("read_at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="spending_books", to="agents.agent"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["read_at"], name="spending_book_age")],
                "constraints": [models.UniqueConstraint(fields=("agent", "name"), name="spending_book_once")],
            },
        ),
        migrations.CreateModel(
            name="SpentDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("usd", models.DecimalField(decimal_places=10, default=Decimal("0"), max_digits=20)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="spent_days",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["day"], name="spent_day_age")],
                "constraints": [models.UniqueConstraint(fields=("agent", "day"), name="spent_day_once")],
            },
        ),
        migrations.CreateModel(
            name="Transition",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "from_status",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("provisioning", "Provisioning"),
                            ("running", "Running"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                            ("deleted", "Deleted"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "to_status",
                    models.CharField(
                        choices=[
                            ("provisioning", "Provisioning"),
                            ("running", "Running"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                            ("deleted", "Deleted"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("create", "Create"),
                            ("resume", "Resume"),
                            ("rebuild", "Rebuild"),
                            ("restore", "Restore"),
                            ("move", "Move"),
                            ("recovery", "Recovery"),
                            ("owner", "Owner"),
                            ("operator", "Operator"),
                            ("trial", "Trial"),
                            ("payment", "Payment"),
                            ("quota", "Quota"),
                            ("suspended", "Suspended"),
                            ("expiry", "Expiry"),
                            ("domain", "Domain"),
                            ("backup", "Backup"),
                            ("channel", "Channel"),
                        ],
                        max_length=12,
                    ),
                ),
                ("actor", models.CharField(max_length=80)),
                ("note", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="transitions", to="agents.agent"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["agent", "-at", "-id"], name="transition_timeline"),
                    models.Index(fields=["-at", "-id"], name="transition_newest"),
                    models.Index(
                        condition=models.Q(("to_status", "failed")), fields=["-at", "-id"], name="transition_failed"
                    ),
                    models.Index(
                        condition=models.Q(("to_status", "provisioning")), fields=["at"], name="transition_start"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageHour",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "at", "agent_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("at", models.DateTimeField(help_text="The start of the hour.")),
                ("memory_used_bytes", models.BigIntegerField(null=True)),
                ("memory_limit_bytes", models.BigIntegerField(null=True)),
                ("disk_used_bytes", models.BigIntegerField(null=True)),
                ("disk_total_bytes", models.BigIntegerField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="usage_hours",
                        to="agents.agent",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Repository",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="repository",
                        serialize=False,
                        to="agents.agent",
                    ),
                ),
                ("password", config.crypto.EncryptedText()),
                (
                    "credential",
                    config.crypto.EncryptedText(
                        blank=True,
                        help_text="The credential with which a pod reads the backups during a restore.",
                        null=True,
                    ),
                ),
                (
                    "credential_for",
                    models.CharField(blank=True, help_text="The restore that the credential is for.", max_length=60),
                ),
                ("made_at", models.DateTimeField(blank=True, help_text="When it was created in the store.", null=True)),
                (
                    "failures",
                    models.PositiveIntegerField(
                        default=0, help_text="Number of failed backups since the last good one."
                    ),
                ),
                ("failure", models.TextField(blank=True, help_text="Why the last backup failed.")),
                ("failed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "expires_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When it is removed from the store, because its agent is deleted.",
                        null=True,
                    ),
                ),
                (
                    "drill_due_at",
                    models.DateTimeField(blank=True, db_default=django.db.models.functions.datetime.Now(), null=True),
                ),
                ("drilled_at", models.DateTimeField(blank=True, help_text="When the last drill ended.", null=True)),
                (
                    "drilled_backup",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="The backup that was used in the last drill.",
                        max_length=60,
                    ),
                ),
                (
                    "drill_said",
                    models.TextField(
                        blank=True, db_default="", help_text="What the last drill checked without a problem."
                    ),
                ),
                ("drill_failure", models.TextField(blank=True, db_default="", help_text="Why the last drill failed.")),
            ],
            options={
                "verbose_name_plural": "repositories",
                "indexes": [
                    models.Index(
                        condition=models.Q(("drill_due_at__isnull", False)),
                        fields=["drill_due_at"],
                        name="repository_drill_due",
                    ),
                    models.Index(
                        condition=models.Q(("expires_at__isnull", False)),
                        fields=["expires_at"],
                        name="repository_expires",
                    ),
                    models.Index(condition=models.Q(("failures__gt", 0)), fields=["agent"], name="repository_failing"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Spending",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="spending",
                        serialize=False,
                        to="agents.agent",
                    ),
                ),
                (
                    "read_at",
                    models.DateTimeField(
                        blank=True, help_text="When the pod is asked again. Empty: its agent does not run.", null=True
                    ),
                ),
                ("day_usd", models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)),
                ("month_usd", models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)),
                ("turn_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("minute_calls", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "is_stopped",
                    models.BooleanField(
                        db_default=False, default=False, help_text="Whether the owner has switched all model calls off."
                    ),
                ),
                (
                    "told",
                    models.JSONField(
                        db_default={}, default=dict, help_text="Which limits the owner was told about, and when."
                    ),
                ),
                (
                    "is_replayed",
                    models.BooleanField(
                        db_default=True, default=True, help_text="Whether the pod records what the agent does."
                    ),
                ),
                (
                    "replay_cleared",
                    models.JSONField(
                        db_default={},
                        default=dict,
                        help_text="When the replay was deleted, by conversation; without a name for all of them.",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("read_at__isnull", False)), fields=["read_at"], name="spending_due"
                    )
                ],
            },
        ),
        migrations.RunSQL("ALTER TABLE agents_agentquota SET (fillfactor = 50)", migrations.RunSQL.noop),
        migrations.RunPython(no_like_index, migrations.RunPython.noop),
    ]
