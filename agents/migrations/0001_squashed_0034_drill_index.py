import agents.clusters.models
import agents.runtimes.base
import agents.clusters.api.place
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
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("agents", "0001_initial"),
        ("agents", "0002_quota"),
        ("agents", "0003_quota_one_index"),
        ("agents", "0004_suspended_and_free_indexes"),
        ("agents", "0005_forgotten_index"),
        ("agents", "0006_persona_index"),
        ("agents", "0007_term_due"),
        ("agents", "0008_term_due_index"),
        ("agents", "0009_clusters"),
        ("agents", "0010_domain_index"),
        ("agents", "0011_operator_reason"),
        ("agents", "0012_gateway_identity"),
        ("agents", "0013_own_networks"),
        ("agents", "0014_trials"),
        ("agents", "0015_trials_index"),
        ("agents", "0016_llm_key_checked"),
        ("agents", "0017_drift"),
        ("agents", "0018_data_expected"),
        ("agents", "0019_visitors_authority"),
        ("agents", "0020_places"),
        ("agents", "0021_trials_promised"),
        ("agents", "0022_bridge_bytes"),
        ("agents", "0023_pod_deployed"),
        ("agents", "0024_listed_index"),
        ("agents", "0025_kept_logs"),
        ("agents", "0026_pod_logs_index"),
        ("agents", "0027_listed_names"),
        ("agents", "0028_domains"),
        ("agents", "0029_domain_index"),
        ("agents", "0030_secrets_astray"),
        ("agents", "0031_backups"),
        ("agents", "0032_backup_due_index"),
        ("agents", "0033_drills"),
        ("agents", "0034_drill_index"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="agents", to=settings.AUTH_USER_MODEL
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
                    models.DateTimeField(blank=True, help_text="When provisioning is given up.", null=True),
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
                ("was_running", models.BooleanField(default=False, help_text="Whether the pod ever came up.")),
                (
                    "data_expected",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether it has data: then a pod that finds an empty disk fails with the cause DATA_LOST.",
                    ),
                ),
                (
                    "restores",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The backup that its pod was told to restore.",
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
                ("engine_key", config.crypto.EncryptedText(help_text="The engine's encryption key; never returned.")),
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
                        help_text="Until when it is free, as promised when it was created. Suspensions of its account postpone it.",
                        null=True,
                    ),
                ),
                (
                    "was_paid",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether it was ever paid for or granted: then its trial is over.",
                    ),
                ),
                (
                    "inbox",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The mailbox of its owner when it was created: trials are counted by it.",
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
                        help_text="When billing/lapses.py looks at the agent again; it alone moves this.",
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
                        help_text="Whether its provider took the key when it was installed.",
                    ),
                ),
                ("model", models.CharField(blank=True, max_length=200, null=True)),
                ("tools_enabled", models.JSONField(blank=True, default=None, null=True)),
                ("mcp_servers", config.crypto.EncryptedJson(default=list)),
                ("channel_secrets", config.crypto.EncryptedJson(default=dict)),
                ("a2a_enabled", models.BooleanField(default=False)),
                ("a2a_listed", models.BooleanField(default=False)),
                ("a2a_token", config.crypto.EncryptedText(blank=True, null=True)),
                ("a2a_peers", config.crypto.EncryptedJson(blank=True, default=None, null=True)),
                ("domain", models.CharField(blank=True, max_length=253, null=True)),
                (
                    "domain_ready_at",
                    models.DateTimeField(
                        blank=True, help_text="Since when its own name may serve and leads here.", null=True
                    ),
                ),
                (
                    "backup_due_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When its next backup by night is due; agents/backups/nights.py moves this.",
                        null=True,
                    ),
                ),
                ("last_backup_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["user", "-created_at", "-id"], name="agent_owner"),
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
                        condition=models.Q(("status", "deleted"), _negated=True),
                        fields=["desired", "status"],
                        name="agent_live",
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
                        blank=True, db_default="", help_text="The last five measurements, a letter each.", max_length=5
                    ),
                ),
                (
                    "since",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="Since when the status is this one.",
                    ),
                ),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "indexes": [],
                "constraints": [],
            },
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
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="backups", to="agents.agent"
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
                ("generation", models.PositiveIntegerField(help_text="The agent's, when it was asked for.")),
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
                ("look_at", models.DateTimeField(blank=True, help_text="When its next step is due.", null=True)),
                (
                    "misses",
                    models.PositiveIntegerField(default=0, help_text="How often in a row its pod did not answer."),
                ),
                (
                    "credential",
                    config.crypto.EncryptedText(
                        blank=True, help_text="What its pod writes with, while it is being made.", null=True
                    ),
                ),
                ("snapshot", models.CharField(blank=True, max_length=64)),
                ("size", models.BigIntegerField(default=0)),
                (
                    "broken",
                    models.PositiveIntegerField(
                        db_default=0, default=0, help_text="How many databases were locked or damaged when it was made."
                    ),
                ),
                ("note", models.TextField(blank=True, help_text="Why it failed, or what is not as it should be.")),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("stage", "done")), fields=["agent", "-taken_at", "-id"], name="backup_there"
                    ),
                    models.Index(condition=models.Q(("look_at__isnull", False)), fields=["look_at"], name="backup_due"),
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
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("name", models.CharField(max_length=253)),
                ("since", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["user", "since"], name="certified_lately")],
                "constraints": [models.UniqueConstraint(fields=("user", "name"), name="certified_once")],
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
                        help_text="How many agents may be placed here.",
                        validators=[django.core.validators.MinValueValidator(0)],
                    ),
                ),
                (
                    "cordoned",
                    models.BooleanField(default=False, help_text="No new agent is placed here; those that are stay."),
                ),
                (
                    "kubeconfig",
                    config.crypto.EncryptedText(
                        blank=True,
                        help_text="Empty: the cluster that Agentpods itself runs in, by its service accounts.",
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
                            (
                                agents.clusters.api.place.Routing["NONE"],
                                agents.clusters.api.place.Routing["NONE"],
                            ),
                        ],
                        default=agents.clusters.api.place.Routing["GATEWAY"],
                        help_text="How visitors come.",
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
                        help_text="Whose pods bring visitors.",
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
                        help_text="On which these pods take visitors, and nothing else. Agents may reach them there, and so each other's public names, where the cluster leads its own public address straight to them.",
                        size=20,
                    ),
                ),
                (
                    "control_namespace",
                    models.CharField(
                        blank=True,
                        help_text="Where Agentpods itself runs, if it does here.",
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
                        help_text="From where Agentpods comes otherwise.",
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
                        help_text="This cluster's own networks: of nodes, pods, services and its API server. Pods never reach them. Private networks are closed in any case; Check names public addresses that are missing here.",
                        size=None,
                    ),
                ),
                (
                    "visitors_authority",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Who certifies the hostnames of agents (PEM), if that is no public authority.",
                        validators=[agents.clusters.models.check_authority],
                    ),
                ),
                (
                    "certificate_issuer",
                    models.CharField(
                        blank=True,
                        help_text="cert-manager's ClusterIssuer for customers' own hostnames.",
                        max_length=60,
                    ),
                ),
                (
                    "storage_class",
                    models.CharField(blank=True, help_text="Empty: the cluster's default.", max_length=60),
                ),
                ("runtime_class", models.CharField(blank=True, help_text="For example gvisor or kata.", max_length=60)),
                ("node_selector", models.JSONField(blank=True, default=dict)),
                ("tolerations", models.JSONField(blank=True, default=list)),
                (
                    "priority_class",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Of agents' pods.",
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
                        help_text='Of agents\' pods, such as {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}.',
                    ),
                ),
                (
                    "dns_peers",
                    models.JSONField(
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text='Whom pods ask for names, as peers of a network policy, such as [{"ipBlock": {"cidr": "169.254.20.10/32"}}] for NodeLocal DNS. Empty: the pods with the label k8s-app=kube-dns.',
                    ),
                ),
                (
                    "dns_port",
                    models.PositiveIntegerField(
                        db_default=53,
                        default=53,
                        help_text="OpenShift: 5353.",
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
                        help_text="Ask nodes by way of the API server. Needs nodes/proxy, which is more than reading.",
                    ),
                ),
                ("observer", models.CharField(blank=True, help_text="Which observer holds the lease.", max_length=40)),
                ("observer_until", models.DateTimeField(blank=True, null=True)),
                (
                    "observed_at",
                    models.DateTimeField(blank=True, help_text="When its watches last had a sign of life.", null=True),
                ),
                (
                    "network_policies",
                    models.CharField(
                        choices=[("unknown", "Unknown"), ("enforced", "Enforced"), ("ignored", "Ignored")],
                        default="unknown",
                        help_text="As the last check found.",
                        max_length=8,
                    ),
                ),
                ("findings", models.JSONField(blank=True, default=list, help_text="What the last check found wrong.")),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "breached_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When an object that protects was last found gone or changed, and put back.",
                        null=True,
                    ),
                ),
                ("breach", models.TextField(blank=True, db_default="", default="", help_text="Which that was.")),
            ],
            options={
                "ordering": ("name",),
                "indexes": [],
                "constraints": [],
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
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="domain_claims", to="agents.agent"
                    ),
                ),
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
            name="KeptLog",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="kept_logs", to="agents.agent"
                    ),
                ),
                (
                    "life",
                    models.CharField(
                        help_text="Of the pod's log; those of one agent sort by their time.", max_length=24
                    ),
                ),
                ("base", models.BigIntegerField(help_text="Offset of the first byte in the pod's log.")),
                ("size", models.PositiveIntegerField(help_text="Bytes, unpacked.")),
                (
                    "packed",
                    models.BinaryField(help_text="Whole lines as the gateway keeps them, masked, packed by zlib."),
                ),
                ("kept_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("agent", "life"), name="kept_log_once")],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Placement",
            fields=[
                ("agent_id", models.CharField(max_length=40, primary_key=True, serialize=False)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="placements", to="agents.cluster"
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Pod",
            fields=[
                ("namespace", models.CharField(max_length=63, primary_key=True, serialize=False)),
                ("agent_id", models.CharField(max_length=40)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="pods", to="agents.cluster"
                    ),
                ),
                (
                    "public_url",
                    models.CharField(blank=True, help_text="Null: the pod's own address.", max_length=300, null=True),
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
                        blank=True, help_text="Digests of its objects as the driver last applied them.", null=True
                    ),
                ),
                (
                    "seen",
                    models.JSONField(
                        blank=True, help_text="The same as the observer sees them; null: not known.", null=True
                    ),
                ),
                (
                    "secrets",
                    models.JSONField(
                        blank=True,
                        help_text="Identities of its Secrets as the driver was told; null: not known.",
                        null=True,
                    ),
                ),
                (
                    "secrets_seen",
                    models.JSONField(blank=True, help_text="Those that are there; null: not known.", null=True),
                ),
                (
                    "astray",
                    models.JSONField(
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text="What was found gone or changed and is not told yet.",
                    ),
                ),
                (
                    "deployed",
                    models.CharField(
                        blank=True,
                        help_text="Hash of the workload that was last found there whole.",
                        max_length=40,
                        null=True,
                    ),
                ),
                ("deployed_at", models.DateTimeField(blank=True, help_text="When that was.", null=True)),
                (
                    "bridge_bytes",
                    models.BigIntegerField(
                        blank=True,
                        help_text="Memory of its bridge, as that told when it came up; null: not known.",
                        null=True,
                    ),
                ),
                (
                    "disk_bytes",
                    models.BigIntegerField(
                        blank=True, help_text="As last measured; a stopped pod has no other.", null=True
                    ),
                ),
                (
                    "logs_kept_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the end of its log was last fetched, for the time after the pod.",
                        null=True,
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
                "constraints": [],
            },
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
                        blank=True, help_text="What a pod reads it with while it restores.", null=True
                    ),
                ),
                ("credential_for", models.CharField(blank=True, help_text="Which restore that is.", max_length=60)),
                ("made_at", models.DateTimeField(blank=True, help_text="Since when it is in the store.", null=True)),
                ("failures", models.PositiveIntegerField(default=0, help_text="How many backups in a row failed.")),
                ("failure", models.TextField(blank=True, help_text="Why the last one failed.")),
                ("failed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "expires_at",
                    models.DateTimeField(
                        blank=True, help_text="When it is taken out of the store: its agent is gone.", null=True
                    ),
                ),
                (
                    "drill_due_at",
                    models.DateTimeField(blank=True, db_default=django.db.models.functions.datetime.Now(), null=True),
                ),
                ("drilled_at", models.DateTimeField(blank=True, help_text="When its last drill was over.", null=True)),
                (
                    "drilled_backup",
                    models.CharField(blank=True, db_default="", help_text="Which backup that was.", max_length=60),
                ),
                (
                    "drill_said",
                    models.TextField(blank=True, db_default="", help_text="What was found to be as it should."),
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
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Transition",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="transitions", to="agents.agent"
                    ),
                ),
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
                        ],
                        max_length=12,
                    ),
                ),
                ("actor", models.CharField(max_length=80)),
                ("note", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["agent", "-at", "-id"], name="transition_timeline")],
                "constraints": [],
            },
        ),
    ]
