"""Clusters in the console: what they are, how they are, and what an operator may do with them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import JSONField, Model, ProtectedError, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.timesince import timesince

from agents.clusters import losing, placement
from agents.clusters.forms import ClusterForm
from agents.clusters.models import Cluster, Enforcement, Placement, Pod
from catalog.form_fields import JsonFormField
from config import wake
from config.errors import ServiceError

SECRETS = ("kubeconfig", "pull_secret")
OBSERVERS = ("observer", "observer_until", "observed_at", "network_policies", "found", "checked_at")
IGNORED = "IGNORED: pods reach each other and your networks"


@admin.register(Cluster)
class ClusterAdmin(admin.ModelAdmin[Cluster]):
    form = ClusterForm
    formfield_overrides: ClassVar[Any] = {JSONField: {"form_class": JsonFormField}}
    list_display = ("name", "region", "agents", "cordoned", "routing", "policies", "observed", "checked")
    list_filter = ("cordoned", "routing", "network_policies")
    search_fields = ("name", "region")
    list_per_page = 50
    actions = ("cordon_clusters", "uncordon_clusters", "check_clusters", "lose_clusters")
    readonly_fields = ("agents", *OBSERVERS)
    fieldsets = (
        (None, {"fields": ("name", "region", "capacity", "cordoned")}),
        ("How it is reached", {"fields": ("kubeconfig", "clear_kubeconfig", "control_namespace", "control_cidrs")}),
        (
            "How visitors come",
            {"fields": ("routing", "gateway", "ingress_class", "router_namespace", "certificate_issuer")},
        ),
        (
            "Where pods run",
            {"fields": ("storage_class", "runtime_class", "node_selector", "tolerations", "stats_through_api")},
        ),
        ("Images", {"fields": ("pull_policy", "pull_secret", "clear_pull_secret")}),
        ("How it is", {"fields": ("agents", *OBSERVERS)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Cluster]:
        return placement.with_placed(super().get_queryset(request))

    def get_urls(self) -> list[URLPattern]:
        lose = path("<path:object_id>/lose/", self.admin_site.admin_view(self.lose_view), name="agents_cluster_lose")
        return [lose, *super().get_urls()]

    @admin.display(description="agents", ordering="placed")
    def agents(self, cluster: Any) -> str:
        return f"{getattr(cluster, 'placed', 0)} of {cluster.capacity}"

    @admin.display(description="network policies", ordering="network_policies")
    def policies(self, cluster: Cluster) -> str:
        return IGNORED if cluster.network_policies == Enforcement.IGNORED else cluster.get_network_policies_display()

    @admin.display(description="seen alive", ordering="observed_at")
    def observed(self, cluster: Cluster) -> str:
        return _ago(cluster.observed_at)

    @admin.display(description="findings")
    def found(self, cluster: Cluster) -> str:
        return "\n".join(cluster.findings)

    @admin.display(description="checked", ordering="checked_at")
    def checked(self, cluster: Cluster) -> str:
        return _ago(cluster.checked_at)

    def save_model(self, request: HttpRequest, obj: Cluster, form: Any, change: bool) -> None:
        """The observer writes into the same row: only what the form has is saved."""
        given = {name.removeprefix("clear_") for name in form.fields}
        obj.save(update_fields=sorted(given) if change else None)

    def get_actions(self, request: HttpRequest) -> Any:
        """Each is deleted on its own page, which says what keeps it."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        cluster = self.get_object(request, unquote(object_id))
        if cluster and (Placement.objects.filter(cluster=cluster).exists() or cluster.pods.exists()):
            return self._kept(request, cluster)
        try:
            return super().delete_view(request, object_id, extra_context)
        except (ProtectedError, IntegrityError):  # an agent was placed there meanwhile
            return self._kept(request, cluster)

    def _kept(self, request: HttpRequest, cluster: Any) -> HttpResponse:
        words = f"cluster {cluster} is not deleted: {self.agents(cluster)} agents are placed there, or have pods there."
        advice = "Cordon it and delete these agents, or give it up as lost for good."
        self.message_user(request, f"{words} {advice}", messages.ERROR)
        return redirect("admin:agents_cluster_change", quote(cluster.pk))

    @admin.action(description="Cordon (no new agents; those that are there stay)", permissions=["change"])
    def cordon_clusters(self, request: HttpRequest, clusters: QuerySet[Cluster]) -> None:
        self._set_cordoned(request, clusters, cordoned=True)

    @admin.action(description="Uncordon", permissions=["change"])
    def uncordon_clusters(self, request: HttpRequest, clusters: QuerySet[Cluster]) -> None:
        self._set_cordoned(request, clusters, cordoned=False)

    def _set_cordoned(self, request: HttpRequest, clusters: QuerySet[Cluster], *, cordoned: bool) -> None:
        word = "cordoned" if cordoned else "uncordoned"
        for cluster in clusters:
            with transaction.atomic():
                if Cluster.objects.filter(pk=cluster.pk).exclude(cordoned=cordoned).update(cordoned=cordoned):
                    self.log_change(request, cluster, f"{word.capitalize()}.")
            self.message_user(request, f"cluster {cluster}: {word}", messages.SUCCESS)

    @admin.action(description="Check (version, rights, routing, storage, network policies)", permissions=["change"])
    def check_clusters(self, request: HttpRequest, clusters: QuerySet[Cluster]) -> None:
        for cluster in clusters:
            wake.on_commit("agents.check_cluster", str(cluster.pk), str(request.user.pk))
            self.log_change(request, cluster, "Check asked for.")
            words = "is being checked, with a few small pods; in two minutes its history says what was found"
            self.message_user(request, f"cluster {cluster}: {words}", messages.SUCCESS)

    @admin.action(description="Lost for good…", permissions=["change"])
    def lose_clusters(self, request: HttpRequest, clusters: QuerySet[Cluster]) -> HttpResponse | None:
        chosen = list(clusters.values_list("pk", flat=True)[:2])
        if len(chosen) > 1:
            self.message_user(request, "One at a time: choose a single cluster.", messages.ERROR)
            return None
        return redirect("admin:agents_cluster_lose", quote(chosen[0]))

    def lose_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the cluster's name, then give it up."""
        cluster = self.get_object(request, unquote(object_id))
        if cluster is None:
            raise Http404
        if not self.has_change_permission(request, cluster):
            raise PermissionDenied
        form = LoseForm(request.POST if request.method == "POST" else None, cluster=cluster)
        if form.is_valid():
            return self._lose(request, cluster)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{cluster} is lost for good",
            "cluster": cluster,
            "form": form,
            "back": reverse("admin:agents_cluster_changelist"),
        }
        return TemplateResponse(request, "admin/agents/cluster/lose.html", context)

    def _lose(self, request: HttpRequest, cluster: Cluster) -> HttpResponse:
        try:
            left = losing.lose(cluster, actor=f"operator:{request.user.pk}", now=timezone.now())
        except ServiceError as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return redirect("admin:agents_cluster_changelist")
        self.log_change(request, cluster, "Given up as lost for good.")
        more = f"; {left} still have to leave, and a worker sees to it; do it again if some stay" if left else ""
        self.message_user(request, f"cluster {cluster}: given up{more}", messages.SUCCESS)
        return redirect("admin:agents_cluster_changelist")


class LoseForm(forms.Form):
    name = forms.CharField(max_length=40, label="The cluster's name, to be sure")

    def __init__(self, *args: Any, cluster: Cluster, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cluster = cluster

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if name != self._cluster.name:
            raise forms.ValidationError(f"Its name is {self._cluster.name}.")
        return name


class WrittenByRules(admin.ModelAdmin[Any]):
    """Rows that placement, driver and observer write: to see and to find."""

    list_per_page = 50
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request).select_related("cluster")
        return rows.defer(*(f"cluster__{name}" for name in SECRETS))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Placement)
class PlacementAdmin(WrittenByRules):
    list_display = fields = ("agent_id", "cluster", "created_at")
    list_filter = ("cluster",)
    search_fields = ("agent_id",)
    ordering = ("-created_at",)


@admin.register(Pod)
class PodAdmin(WrittenByRules):
    """The last that was seen of each pod."""

    list_display = (
        "namespace",
        "agent_id",
        "cluster",
        "phase",
        "gateway_alive",
        "revision",
        "restarts",
        "cause",
        "since",
    )
    fields = (*list_display, "message", "evidence", "public_url", "pod_ip", "disk_bytes", "made_at")
    list_filter = ("phase", "cluster")
    search_fields = ("namespace", "agent_id")
    ordering = ("-made_at",)


def _ago(moment: datetime | None) -> str:
    if moment is None:
        return "never"
    seconds = (timezone.now() - moment).total_seconds()
    return f"{max(0, seconds):.0f} s ago" if seconds < 120 else f"{timesince(moment, depth=1)} ago"
