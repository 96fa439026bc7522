"""The agent, its timeline and its measured quota: fields, constraints and named queries. Rules are elsewhere."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

import agents.replay.models  # noqa: F401 # Django finds it here
from accounts import mailbox
from agents import expected
from agents.backups.models import Backup, Repository
from agents.channel_health.models import ChannelState
from agents.clusters.models import Cluster, Placement, Pod
from agents.domains.models import CertifiedName, DomainClaim
from agents.egress.models import Egress
from agents.spending.models import AccountSpending, ModelUsage, Spending, SpendingBook, SpentDay
from agents.watching.models import KeptLog
from config.crypto import EncryptedJson, EncryptedText
from config.ids import new_id

__all__ = [
    "NAME_WORDS",
    "AccountSpending",
    "Agent",
    "AgentQuota",
    "Backup",
    "CertifiedName",
    "ChannelState",
    "Cluster",
    "Desired",
    "DomainClaim",
    "Egress",
    "KeptLog",
    "ModelUsage",
    "Placement",
    "Pod",
    "QuotaStatus",
    "Reason",
    "Repository",
    "Spending",
    "SpendingBook",
    "SpentDay",
    "Status",
    "Transition",
    "UsageHour",
]

NAME_WORDS = SearchVector("name", config="simple")  # the words of a name, as the public directory searches them


class Status(models.TextChoices):
    """The status that callers see (docs/spec.md: Agent `status`). Only the state machine sets it."""

    PROVISIONING = "provisioning"
    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"
    DELETED = "deleted"


class Desired(models.TextChoices):
    """The state that the owner, the operator or billing wants for the pod."""

    RUNNING = "running"
    STOPPED = "stopped"
    DELETED = "deleted"


class QuotaStatus(models.TextChoices):
    OK = "ok"
    WARN = "warn"
    GRACE = "grace"
    PAUSED = "paused"


class Reason(models.TextChoices):
    """Why a state was asked for or reached. It is on the timeline and, for stops, in the event."""

    CREATE = "create"
    RESUME = "resume"
    REBUILD = "rebuild"
    RESTORE = "restore"
    MOVE = "move"
    RECOVERY = "recovery"
    OWNER = "owner"
    OPERATOR = "operator"
    TRIAL = "trial"
    PAYMENT = "payment"
    QUOTA = "quota"
    SUSPENDED = "suspended"
    EXPIRY = "expiry"
    DOMAIN = "domain"
    BACKUP = "backup"
    CHANNEL = "channel"


# The agent is between two states, so something is still to be done. A failed agent that waits for its owner is not.
UNSETTLED = Q(status=Status.PROVISIONING) | (
    ~Q(desired=models.F("status")) & ~Q(desired=Desired.RUNNING, status=Status.FAILED)
)

# The engine of such an agent should hear people on other channels than the web.
LISTENING = Q(status=Status.RUNNING, desired=Desired.RUNNING, llm_key_hash__isnull=False) & ~Q(
    channels__contained_by=["web"]
)


class AgentQuerySet(models.QuerySet["Agent"]):
    def lock(self, agent_id: str) -> Agent:
        """The agent's row as it is now, locked until the transaction ends. All who change it or its term lock it first:
        after its account, before its quota, hook, orders and subscriptions. Raises DoesNotExist, AgentWasChanged."""
        return expected.checked(self.locked().get(pk=agent_id))

    def locked(self) -> AgentQuerySet:
        """`lock` for several rows and for rows that may be gone. Others may still insert rows that refer to them."""
        return self.select_for_update(no_key=True, of=("self",))

    def owned_by(self, user_id: str) -> AgentQuerySet:
        return self.filter(user_id=user_id)

    def seen_by(self, agent_id: str | None) -> AgentQuerySet:
        """The agents for a credential that may see this agent alone, or for one that may see all (None)."""
        return self if agent_id is None else self.filter(pk=agent_id)

    def live(self) -> AgentQuerySet:
        """The agents that an owner still sees: neither deleted nor asked to be deleted."""
        return self.exclude(desired=Desired.DELETED)

    def unpaid(self) -> AgentQuerySet:
        return self.filter(paid=False)

    def due(self, now: datetime) -> AgentQuerySet:
        """The agents whose next reconcile step is due. Uses the partial index `agent_due`."""
        return self.filter(reconcile_at__lte=now).order_by("reconcile_at")

    def term_due(self, now: datetime) -> AgentQuerySet:
        """The agents whose term has a step due. Uses the partial index `agent_term_due`."""
        return self.filter(term_due_at__lte=now).order_by("term_due_at")


class Agent(models.Model):
    """One agent, with its pod (docs/spec.md: Agent)."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "agt"), editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="agents")
    persona_id = models.CharField(max_length=80)
    name = models.CharField(max_length=80)
    tier = models.CharField(max_length=20)
    engine = models.CharField(max_length=20)
    channels = ArrayField(models.CharField(max_length=20), default=list)
    lang = models.CharField(max_length=2, default="en")
    timezone = models.CharField(max_length=64, null=True, blank=True)
    soul = models.TextField(help_text="The persona's soul as it was when the agent was created or last rebuilt.")
    extra_soul = models.TextField(null=True, blank=True)
    created_at = models.DateTimeField()

    # The life cycle. Only agents/running/lifecycle.py writes these.
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.PROVISIONING)
    desired = models.CharField(max_length=8, choices=Desired.choices, default=Desired.RUNNING)
    operation = models.CharField(max_length=12, choices=Reason.choices, default=Reason.CREATE)
    settled_status = models.CharField(max_length=12, choices=Status.choices, default=Status.PROVISIONING)
    status_since = models.DateTimeField()
    deadline_at = models.DateTimeField(null=True, blank=True, help_text="When provisioning is stopped as failed.")
    cause = models.CharField(max_length=20, blank=True)
    cause_message = models.TextField(blank=True)
    cause_evidence = models.JSONField(default=list, blank=True)
    recoveries = models.PositiveIntegerField(default=0)
    lost_since = models.DateTimeField(
        null=True, blank=True, help_text="Since when a running agent's pod is not healthy."
    )
    was_running = models.BooleanField(default=False, help_text="Whether the pod has ever started.")
    data_expected = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether the agent has data. If so, a pod that finds an empty disk fails with the cause DATA_LOST.",
    )
    restores = models.CharField(
        max_length=40, blank=True, default="", db_default="", help_text="The backup that the pod must restore."
    )

    # The pod. `namespace` is stored before the first deploy and never used twice.
    slug = models.CharField(max_length=63, unique=True)
    suffix = models.CharField(max_length=24, unique=True)
    generation = models.PositiveIntegerField(default=1)
    dseq = models.CharField(max_length=60, null=True, blank=True)
    endpoint_url = models.CharField(max_length=500, null=True, blank=True)
    spec_revision = models.PositiveIntegerField(default=1)
    management_token = EncryptedText()
    ticket_key = EncryptedText()
    # The gateway proves its identity with these (agents/running/identity.py). They are made before its first start.
    gateway_key = EncryptedText(null=True, blank=True)
    gateway_certificate = models.TextField(blank=True, default="", db_default="")
    engine_key = EncryptedText(help_text="The engine's encryption key. The API never returns it.")
    dash_username = models.CharField(max_length=80, null=True, blank=True)
    dash_password = EncryptedText(null=True, blank=True)

    # The reconciler's lease.
    reconcile_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    lease_token = models.CharField(max_length=40, blank=True)
    attempts = models.PositiveIntegerField(default=0)

    # How long the agent may run. Billing changes this through agents/entitlement.py.
    trial_ends_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="The end of the free time, as promised at the creation. Suspensions of the account postpone it.",
    )
    was_paid = models.BooleanField(
        default=False, db_default=False, help_text="Whether the agent was ever paid or granted: then its trial is over."
    )
    inbox = models.CharField(
        max_length=mailbox.MAX_LENGTH,
        default="",
        db_default="",
        blank=True,
        help_text="The owner's mailbox when the agent was created. Trials are counted per mailbox.",
    )
    paid = models.BooleanField(default=False)
    entitled_until = models.DateTimeField(null=True, blank=True)
    trial_notice_day = models.SmallIntegerField(null=True, blank=True)
    term_due_at = models.DateTimeField(
        null=True, blank=True, help_text="When billing/dunning.py checks the agent again. Only it changes this."
    )

    # Model key.
    llm_provider = models.CharField(max_length=20, null=True, blank=True)
    llm_key = EncryptedText(null=True, blank=True)
    llm_key_hash = models.CharField(max_length=64, null=True, blank=True)
    llm_key_checked = models.BooleanField(
        default=True, db_default=True, help_text="Whether the provider accepted the key when it was installed."
    )
    model = models.CharField(max_length=200, null=True, blank=True)

    # Tools, channels, A2A, domain.
    tools_enabled = models.JSONField(default=None, null=True, blank=True)
    mcp_servers = EncryptedJson(default=list)
    tool_secrets = EncryptedJson(
        null=True,
        blank=True,
        default=None,
        help_text="The owner's keys for the services that the agent's tools use, by service.",
    )
    channel_secrets = EncryptedJson(default=dict)
    a2a_enabled = models.BooleanField(default=False)
    a2a_listed = models.BooleanField(default=False)
    a2a_token = EncryptedText(null=True, blank=True)
    a2a_peers = EncryptedJson(null=True, blank=True, default=None)
    domain = models.CharField(max_length=253, null=True, blank=True)
    # The agent's own hostname. agents/domains knows which account owns which name.
    domain_ready_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when the agent's own domain is allowed to work and points here."
    )
    backup_due_at = models.DateTimeField(
        null=True, blank=True, help_text="When the next nightly backup is due. agents/backups/nightly.py changes this."
    )
    last_backup_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[AgentQuerySet] = AgentQuerySet.as_manager()  # type: ignore[assignment]  # a manager with all its methods

    class Meta:
        permissions = [("pause_agent", "Can pause and resume agents"), ("test_agent", "Can test and back up agents")]
        indexes = [
            # The owner's list, newest first, and the operators' list.
            models.Index(fields=["user", "-created_at", "-id"], name="agent_owner"),
            models.Index(fields=["-created_at", "-id"], name="agent_newest"),
            # The due scan of agents/running/reconciler.py.
            models.Index(fields=["reconcile_at"], name="agent_due", condition=Q(reconcile_at__isnull=False)),
            # The due scan of billing/dunning.py.
            models.Index(fields=["term_due_at"], name="agent_term_due", condition=Q(term_due_at__isnull=False)),
            # The sweeper's search for agents between two states that have no due time (agents/running/sweeper.py).
            models.Index(fields=["id"], name="agent_forgotten", condition=UNSETTLED & Q(reconcile_at__isnull=True)),
            # The due scan of agents/backups/nightly.py.
            models.Index(fields=["backup_due_at"], name="agent_backup_due", condition=Q(backup_due_at__isnull=False)),
            # The oldest backup among the agents that should have a newer one (agents/backups/health.py).
            models.Index(
                fields=["last_backup_at"], name="agent_backup_age", condition=Q(desired="running", status="running")
            ),
            # Agents whose channels are checked (agents/channel_health/looking.py).
            models.Index(fields=["id"], name="agent_listening", condition=LISTENING),
            # The reconciler compares these agents with the pods that it sees.
            models.Index(fields=["desired", "status"], name="agent_live", condition=~Q(status="deleted")),
            # Running agents whose time is over, and paid ones that are stopped as unpaid (billing/invariants.py).
            models.Index(fields=["entitled_until"], name="agent_end", condition=Q(desired="running", status="running")),
            models.Index(fields=["status_since"], name="agent_paid_stopped", condition=Q(paid=True, desired="stopped")),
            # The agents that a suspension stopped, and the free agents that the caps count.
            models.Index(fields=["user"], name="agent_suspended", condition=Q(operation="suspended")),
            models.Index(fields=["user"], name="agent_free", condition=Q(paid=False) & ~Q(desired="deleted")),
            # The trials of a mailbox (agents/trials.py).
            models.Index(fields=["inbox", "created_at"], name="agent_trials"),
            # The public directory of agents/talking/a2a_catalog.py.
            models.Index(
                fields=["-created_at", "-id"],
                name="agent_listed",
                condition=Q(a2a_enabled=True, a2a_listed=True, status="running"),
            ),
            GinIndex(
                NAME_WORDS,
                name="agent_listed_name",
                condition=Q(a2a_enabled=True, a2a_listed=True, status="running"),
            ),
            # Whether any agent still uses a persona.
            models.Index(fields=["persona_id"], name="agent_persona", condition=~Q(desired="deleted")),
        ]
        constraints = [
            models.UniqueConstraint(fields=["domain"], name="agent_domain_once", condition=~Q(desired="deleted")),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"

    def __repr__(self) -> str:
        return f"<Agent {self.id} {self.status}>"

    @property
    def namespace(self) -> str:
        """The pod's namespace in this generation. A namespace is never used twice."""
        return f"pod-{self.suffix}-{self.generation}"

    def is_entitled(self, now: datetime) -> bool:
        """Whether the pod may run: it is paid for, or its free time is not over."""
        return self.entitled_until is None or now < self.entitled_until


class Transition(models.Model):
    """One row of an agent's timeline: who asked for something, and which status followed."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="transitions")
    from_status = models.CharField(max_length=12, choices=Status.choices, blank=True)
    to_status = models.CharField(max_length=12, choices=Status.choices)
    reason = models.CharField(max_length=12, choices=Reason.choices)
    actor = models.CharField(max_length=80)
    note = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["agent", "-at", "-id"], name="transition_timeline"),
            # The operators' list, and what became failed lately.
            models.Index(fields=["-at", "-id"], name="transition_newest"),
            models.Index(fields=["-at", "-id"], name="transition_failed", condition=Q(to_status="failed")),
            # The starts of one day, for the service levels.
            models.Index(fields=["at"], name="transition_start", condition=Q(to_status="provisioning")),
        ]

    def __str__(self) -> str:
        return f"{self.from_status or 'new'} to {self.to_status} ({self.reason})"


class AgentQuota(models.Model):
    """The latest snapshot of memory and disk (docs/spec.md: AgentQuota). The row is small: each minute rewrites it."""

    agent = models.OneToOneField(Agent, on_delete=models.CASCADE, primary_key=True, related_name="quota_snapshot")
    memory_used_bytes = models.BigIntegerField(null=True)
    memory_limit_bytes = models.BigIntegerField(null=True)
    disk_used_bytes = models.BigIntegerField(null=True)
    disk_total_bytes = models.BigIntegerField(null=True)
    # These three belong to the quota's state machine; only agents/watching/quota.py writes them.
    status = models.CharField(max_length=6, choices=QuotaStatus.choices, default=QuotaStatus.OK)
    recent = models.CharField(
        max_length=5, blank=True, db_default="", help_text="The last five measurements, one letter for each."
    )
    since = models.DateTimeField(db_default=Now(), help_text="Since when the agent has this status.")
    updated_at = models.DateTimeField()
    # The highest values in the hour of `updated_at`. They become a row of UsageHour when the hour is over.
    hour_memory_bytes = models.BigIntegerField(null=True)
    hour_disk_bytes = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.agent_id}: {self.status}"


class UsageHour(models.Model):
    """The most memory and disk that an agent used in an hour (agents/watching/usage_hours.py), and its plan's limits.

    Rows are in the order of time: new hours go to the end of table and index, old hours are removed from the beginning.
    """

    pk = models.CompositePrimaryKey("at", "agent_id")
    at = models.DateTimeField(help_text="The start of the hour.")
    # There is no constraint, because checking it would lock each agent's row once an hour.
    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="usage_hours", db_index=False, db_constraint=False
    )
    memory_used_bytes = models.BigIntegerField(null=True)
    memory_limit_bytes = models.BigIntegerField(null=True)
    disk_used_bytes = models.BigIntegerField(null=True)
    disk_total_bytes = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.agent_id}: {self.at}"
