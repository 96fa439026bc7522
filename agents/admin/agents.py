"""Agents in the admin: operators see all fields and edit none. Actions call the same rules as the API."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from agents.admin.columns import WithColumns
from agents.admin.list_filters import AttentionFilter, ClusterFilter
from agents.admin.logs import WithLogs
from agents.admin.outlook import WithOutlook
from agents.admin.repair_steps import ResendEvents, RestartEngine, TalkTestAgent
from agents.admin.repairs import REPAIRS
from agents.admin.sections import SECTIONS
from agents.admin.steps import DeleteAgents, PauseAgents, RebuildAgents, ResumeAgents
from agents.backups import admin as backups_admin  # noqa: F401  # registers backups and repositories
from agents.backups.admin_steps import BackUpAgents, UndoDeletion
from agents.clusters import admin as clusters_admin  # noqa: F401  # registers clusters
from agents.clusters import placement
from agents.clusters.admin_steps import MoveAgents
from agents.domains import admin as domains_admin  # noqa: F401  # registers claims
from agents.inbound import admin as inbound_admin  # noqa: F401  # registers messages
from agents.models import Agent, AgentQuota, ChannelState, Transition
from agents.talking import talk_test
from agents.watching import quota
from catalog.vocabulary import EngineId, TierId
from config.admin_sections import WithSections
from config.crypto import readable
from config.errors import ServiceError
from config.long_lists import WhenFilter, one_of
from config.read_only import NeitherAddedNorDeleted, ReadOnly

MASKED = "•••••• (set)"
# The fields of an agent's page, by the titles of their groups.
SHOWN = (
    (None, "outlook id user name persona_id engine tier lang timezone channels created_at"),
    (
        "Life cycle",
        "status status_since desired operation settled_status deadline_at cause cause_message cause_evidence recoveries"
        " lost_since",
    ),
    (
        "Pod",
        "pod_namespace cluster dseq endpoint_url slug domain generation spec_revision reconcile_at lease_until"
        " attempts",
    ),
    ("Entitlement", "paid entitled_until trial_notice_day"),
    (
        "Configuration",
        "llm_provider model llm_key_hash masked_secrets tools_enabled a2a_enabled a2a_listed soul extra_soul",
    ),
)


class ReadOnlyInline(ReadOnly, admin.TabularInline[Any, Any]):
    extra = 0
    can_delete = False
    show_change_link = False


class QuotaInline(ReadOnlyInline):
    model = AgentQuota
    fields = readonly_fields = ("status", "since", "measured", "recent", "updated_at")

    def measured(self, snapshot: AgentQuota) -> str:
        return ", ".join(quota.measured(snapshot))


class ChannelInline(ReadOnlyInline):
    model = ChannelState
    fields = readonly_fields = ("channel", "since", "reason", "told_at", "mailed_at", "heard_from_at", "look_at")
    ordering = ("channel",)
    verbose_name_plural = "channels other than the web"


class QuotaFilter(admin.ChoicesFieldListFilter):
    """Has the title `quota`, to differ from the agent's own status."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = "quota"


@admin.register(Agent)
class AgentAdmin(NeitherAddedNorDeleted, WithLogs, WithOutlook, WithSections, WithColumns):
    list_filter = (AttentionFilter, "status", "desired", ClusterFilter, ("engine", one_of(EngineId.choices)),
                   ("tier", one_of(TierId.choices)), "paid", ("quota_snapshot__status", QuotaFilter),
                   ("status_since", WhenFilter), ("created_at", WhenFilter))  # fmt: skip
    search_fields = ("id", "name", "user__email", "^slug", "^domain", "^suffix")
    search_help_text = "Id, name, owner's e-mail, slug, domain or namespace suffix"
    list_select_related = ("user", "quota_snapshot")
    list_per_page = 50
    ordering = ("-created_at", "-id")
    inlines = (QuotaInline, ChannelInline)
    actions = ("talk_test_agents",)
    steps = (PauseAgents(), ResumeAgents(), RebuildAgents(), BackUpAgents(), MoveAgents(), DeleteAgents(),
             UndoDeletion())  # fmt: skip
    pages = (RestartEngine(), ResendEvents(), TalkTestAgent())
    sections = SECTIONS
    repairs = REPAIRS
    fieldsets: ClassVar[Any] = tuple(
        (title, {"fields": tuple(names.split()), "classes": ("collapse",) if title else ()}) for title, names in SHOWN
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> tuple[str, ...]:
        return tuple(str(name) for _, options in self.fieldsets for name in options["fields"])

    def has_pause_permission(self, request: HttpRequest) -> bool:
        return self.has_change_permission(request) or request.user.has_perm("agents.pause_agent")

    def has_test_permission(self, request: HttpRequest) -> bool:
        return self.has_change_permission(request) or request.user.has_perm("agents.test_agent")

    def has_resend_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("webhooks.change_delivery")

    def has_remove_permission(self, request: HttpRequest) -> bool:
        """Agents are deleted by a step alone, so `has_delete_permission` is false for everybody."""
        return request.user.has_perm("agents.delete_agent")

    @admin.display(description="quota", ordering="quota_snapshot__status")
    def quota_status(self, agent: Agent) -> str:
        return agent.quota_snapshot.status if hasattr(agent, "quota_snapshot") else "-"

    @admin.display(description="namespace")
    def pod_namespace(self, agent: Agent) -> str:
        return agent.namespace

    def cluster(self, agent: Agent) -> str:
        cluster = placement.cluster_of(agent.id)
        return cluster.name if cluster else "-"

    @admin.display(description="secrets")
    def masked_secrets(self, agent: Agent) -> str:
        """Names the secrets that are stored, never their values."""
        agent = readable(agent)
        stored = {
            "model key": agent.llm_key,
            "A2A token": agent.a2a_token,
            "dashboard password": agent.dash_password,
            "MCP servers": agent.mcp_servers,
            **dict.fromkeys(agent.channel_secrets, "set"),
            **{f"{service} key": "set" for service in agent.tool_secrets or {}},
        }
        return ", ".join(f"{name} {MASKED}" for name, value in stored.items() if value) or "none"

    @admin.action(
        description="Talk test (finds the hop that is silent; each agent makes one call of its model)",
        permissions=["test"],
    )
    def talk_test_agents(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        for agent in agents[:1]:  # one test may take a minute and a half: no page may take longer
            try:
                found = talk_test.run(agent)
            except ServiceError as refusal:
                self.message_user(request, f"{agent}: {refusal.message}", messages.ERROR)
                continue
            words = ", ".join(f"{hop.hop}: {hop.error or 'ok'}" for hop in found.hops)
            self.log_change(request, agent, f"Talk test: {words}")
            self.message_user(request, f"{agent}: {words}", messages.SUCCESS if found.ok else messages.WARNING)
        if agents.count() > 1:
            self.message_user(request, "only the first agent was tested", messages.WARNING)


@admin.register(Transition)
class TransitionAdmin(ReadOnly, admin.ModelAdmin[Transition]):
    list_display = ("at", "agent", "from_status", "to_status", "reason", "actor", "note")
    list_filter = ("to_status", "reason", ("at", WhenFilter))
    search_fields = ("agent__id", "agent__user__email")
    search_help_text = "Agent id, or the owner's e-mail"
    list_select_related = ("agent",)
    ordering = ("-at", "-id")
    sortable_by = ()
