"""Clusters in the admin: their settings, their state, and what an operator may do with them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import JSONField, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.timesince import timesince

from agents.clusters import placement
from agents.clusters.admin_steps import DeleteClusters, LoseClusters, MoveAgents
from agents.clusters.forms import SECRETS, ClusterForm
from agents.clusters.models import Cluster, Enforcement, Placement, Pod
from agents.models import Agent
from catalog.form_fields import JsonFormField
from config import background
from config.admin_sections import page_of
from config.admin_steps import WithSteps, as_job
from config.read_only import WrittenByRules

OBSERVERS = ("observer", "observer_until", "observed_at", "network_policies", "found", "checked_at")
SCHEDULING = (
    "runtime_class",
    "tier_runtime_classes",
    "node_selector",
    "tolerations",
    "priority_class",
    "pod_annotations",
)
BREACH = ("breached_at", "breach")  # written by the driver
IGNORED = "IGNORED: pods can connect to each other and to your networks"


@admin.register(Cluster)
class ClusterAdmin(WithSteps):
    form = ClusterForm
    change_form_template = "admin/agents/cluster/change_form.html"  # with the actions below as buttons
    formfield_overrides: ClassVar[Any] = {JSONField: {"form_class": JsonFormField}}
    list_display = ("name", "region", "agents", "cordoned", "routing", "policies", "breached", "observed", "checked")
    list_filter = ("cordoned", "routing", "network_policies")
    search_fields = ("name", "region")
    list_per_page = 50
    actions = ("cordon_clusters", "uncordon_clusters", "check_clusters", "empty_clusters")
    steps = (LoseClusters(), DeleteClusters())
    readonly_fields = ("agents", *OBSERVERS, *BREACH)
    fieldsets = (
        (None, {"fields": ("name", "region", "capacity", "cordoned")}),
        ("Connection", {"fields": ("kubeconfig", "clear_kubeconfig", "control_namespace", "control_cidrs")}),
        ("Networks closed to pods", {"fields": ("own_cidrs",)}),
        (
            "Visitors",
            {
                "fields": (
                    "routing",
                    "gateway",
                    "ingress_class",
                    "router_namespace",
                    "router_ports",
                    "certificate_issuer",
                    "visitors_authority",
                )
            },
        ),
        (
            "Where pods run",
            {"fields": ("storage_class", *SCHEDULING, "dns_peers", "dns_port", "stats_through_api")},
        ),
        ("Images", {"fields": ("pull_policy", "pull_secret", "clear_pull_secret")}),
        ("Status", {"fields": ("agents", *OBSERVERS, *BREACH)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Cluster]:
        return placement.with_placed(super().get_queryset(request))

    @admin.display(description="agents", ordering="placed")
    def agents(self, cluster: Any) -> str:
        """How many, with a link to them."""
        place = f"{reverse('admin:agents_agent_changelist')}?{urlencode({'cluster': cluster.name})}"
        return format_html('<a href="{}">{} of {}</a>', place, getattr(cluster, "placed", 0), cluster.capacity)

    @admin.display(description="network policies", ordering="network_policies")
    def policies(self, cluster: Cluster) -> str:
        return IGNORED if cluster.network_policies == Enforcement.IGNORED else cluster.get_network_policies_display()

    @admin.display(description="protection changed", ordering="breached_at")
    def breached(self, cluster: Cluster) -> str:
        return _ago(cluster.breached_at)

    @admin.display(description="last seen", ordering="observed_at")
    def observed(self, cluster: Cluster) -> str:
        return _ago(cluster.observed_at)

    @admin.display(description="findings")
    def found(self, cluster: Cluster) -> str:
        return "\n".join(cluster.findings)

    @admin.display(description="checked", ordering="checked_at")
    def checked(self, cluster: Cluster) -> str:
        return _ago(cluster.checked_at)

    def save_model(self, request: HttpRequest, obj: Cluster, form: Any, change: bool) -> None:
        """Save only the fields of the form: the observer writes other fields of the same row."""
        given = {name.removeprefix("clear_") for name in form.fields}
        obj.save(update_fields=sorted(given) if change else None)

    @admin.action(description="Cordon (no new agents; present agents stay)", permissions=["change"])
    def cordon_clusters(self, request: HttpRequest, clusters: QuerySet[Cluster]) -> HttpResponse | None:
        return self._set_cordoned(request, clusters, cordoned=True)

    @admin.action(description="Uncordon", permissions=["change"])
    def uncordon_clusters(self, request: HttpRequest, clusters: QuerySet[Cluster]) -> HttpResponse | None:
        return self._set_cordoned(request, clusters, cordoned=False)

    def _set_cordoned(
        self, request: HttpRequest, clusters: QuerySet[Cluster], *, cordoned: bool
    ) -> HttpResponse | None:
        """Lead back to the cluster's page if its button was pressed."""
        word = "cordoned" if cordoned else "uncordoned"
        for cluster in self.bounded(request, clusters):
            with transaction.atomic():
                if Cluster.objects.filter(pk=cluster.pk).exclude(cordoned=cordoned).update(cordoned=cordoned):
                    self.log_change(request, cluster, f"{word.capitalize()}.")
            self.message_user(request, f"cluster {cluster}: {word}", messages.SUCCESS)
        return redirect(request.POST["page"]) if request.POST.get("page") in _pages(clusters) else None

    @admin.action(description="Check (version, rights, routing, storage, network policies)", permissions=["change"])
    def check_clusters(self, request: HttpRequest, clusters: QuerySet[Cluster]) -> None:
        for cluster in self.bounded(request, clusters):
            background.on_commit("agents.check_cluster", str(cluster.pk), str(request.user.pk))
            self.log_change(request, cluster, "Check requested.")
            words = "is being checked, with a few small pods; its history shows the result in two minutes"
            self.message_user(request, f"cluster {cluster}: {words}", messages.SUCCESS)

    @admin.action(description="Move all agents off this cluster…", permissions=["change"])
    def empty_clusters(self, request: HttpRequest, clusters: QuerySet[Cluster]) -> HttpResponse | None:
        """Prepare the job that moves the agents of one cluster, by the step of the list of agents."""
        console = self.admin_site._registry[Agent]  # noqa: SLF001  # Django has no other way to another list
        step = MoveAgents()
        chosen = list(clusters[:2])
        if len(chosen) > 1 or not step.allowed(console, request):
            self.message_user(request, "This works for one cluster at a time, for who may move agents.", messages.ERROR)
            return None
        placed = Placement.objects.filter(cluster=chosen[0]).values("pk")
        agents = Agent.objects.filter(pk__in=placed)
        return as_job(console, request, step.among(agents), step=step, words=f"as placed on cluster {chosen[0]}")


class ClusterRowsAdmin(WrittenByRules):
    """Rows that placement, driver and observer write."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request).select_related("cluster")
        return rows.defer(*(f"cluster__{name}" for name in SECRETS))


@admin.register(Placement)
class PlacementAdmin(ClusterRowsAdmin):
    list_display = fields = ("agent_id", "cluster", "created_at", "move", "other")
    list_filter = ("cluster", "move")
    search_fields = ("agent_id",)
    ordering = ("-created_at",)


@admin.register(Pod)
class PodAdmin(ClusterRowsAdmin):
    """What was last seen of each pod."""

    list_display = ("namespace", "agent_id", "cluster", "phase", "gateway_alive", "revision", "restarts", "cause",
                    "since")  # fmt: skip
    fields = (*list_display, "message", "evidence", "public_url", "pod_ip", "disk_bytes", "made_at")
    list_filter = ("phase", "cluster")
    search_fields = ("namespace", "agent_id")
    ordering = ("-made_at",)


def _pages(clusters: QuerySet[Cluster]) -> list[str]:
    return [page_of("agents_cluster", str(key)) for key in clusters.values_list("pk", flat=True)[:1]]


def _ago(moment: datetime | None) -> str:
    if moment is None:
        return "never"
    seconds = (timezone.now() - moment).total_seconds()
    return f"{max(0, seconds):.0f} s ago" if seconds < 120 else f"{timesince(moment, depth=1)} ago"
