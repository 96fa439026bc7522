"""Operators' actions on clusters that cannot be undone."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, Q, QuerySet

from agents.admin.steps import AgentStep, downtime
from agents.clusters import abandoning, moving, placement
from agents.clusters.models import Cluster, Placement
from agents.models import Agent, Desired, Status
from config.admin_steps import DeleteRows, Given, Logged, NameOrPerish, ReasonForm, Step
from config.errors import Conflict


class ClusterRows:
    """What both pages show of clusters. Named before the class of the step."""

    def shown(self, row: Any) -> dict[str, str]:
        return {
            "name": row.name,
            "region": row.region,
            "agents": f"{row.placed} of {row.capacity}",
            "last seen": f"{row.observed_at:%Y-%m-%d %H:%M:%S} UTC" if row.observed_at else "never",
        }

    def _all(self) -> QuerySet[Cluster]:
        return placement.with_placed(Cluster.objects.all())


class LoseClusters(ClusterRows, Step[Cluster]):
    name, title, button = "lose_clusters", "Lost for good", "Give up for good"
    done = "Given up as lost for good"
    model = Cluster
    material = ("name",)
    alone = True
    in_transaction = False  # each agent leaves in a transaction of its own
    warnings = (
        "For a cluster that will never come back. Agentpods no longer contacts it. All data on it is lost.",
        "The cluster is cordoned: no agent is placed on it again.",
        "Running agents start on other clusters, with their newest backup or an empty disk. Their timelines show"
        " which.",
        "Stopped and failed agents stay as they are. If they are started later, they start on other clusters as well.",
        "If the cluster comes back after all, delete the objects of Agentpods on it: an agent must not have two pods.",
    )

    def means(self, rows: list[Cluster]) -> list[str]:
        return [f"{getattr(row, 'placed', 0)} agents are moved away from {row}." for row in rows]

    def form_of(self, sent: Any, rows: list[Cluster]) -> NameOrPerish:
        return NameOrPerish(sent, expected=rows[0].name)

    def take(self, row: Cluster, *, given: Given) -> Logged | None:
        left = abandoning.lose(row, actor=given.actor, now=given.now)
        if left:
            given.say(f"{left} agents are still on {row}. A worker moves them; repeat this step if some stay.")
        return None


class WhereTo(ReasonForm):
    to = forms.ModelChoiceField(Cluster.objects.filter(cordoned=False), label="To which cluster")


class MoveAgents(AgentStep):
    name, title, button, done = "move_agents", "Move agents to another cluster", "Move", "Move requested"
    form = WhereTo
    bulk, pace = True, 30
    material = ("status", "wanted", "cluster")
    warnings = (
        "A pod on the other cluster replaces the pod: the work that it is doing now is interrupted. A backup, which the"
        " old pod makes first, moves the data. What the agent writes in the last seconds of the backup is lost.",
        "The old disk is kept until the new pod is ready. If the new pod does not start, the agent is built where it"
        " was.",
        "A stopped agent stays stopped. When it is started, it starts there, with the backup made when it stopped.",
        "A failed agent moves if its pod can still make a backup. If not, it is rebuilt where it is.",
        "The agent's host names must point to the other cluster too: check your DNS and the proxies before the"
        " clusters.",
    )

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        placed = Placement.objects.filter(pk=OuterRef("pk"))
        stopped = Q(status=Status.STOPPED, desired=Desired.STOPPED)
        runs = Q(status__in=[Status.RUNNING, Status.FAILED], desired=Desired.RUNNING)
        return chosen.filter(stopped | runs, Exists(placed))

    def shown(self, row: Agent) -> dict[str, str]:
        return {**super().shown(row), "cluster": str(placement.cluster_of(row.pk) or "-")}

    def means(self, rows: list[Agent]) -> list[str]:
        return downtime(rows)

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        moving.move(row, to=given.fields["to"], actor=given.actor, why=given.reason)
        return [(row, f"Move requested to {given.fields['to']}: {given.reason}")]


class DeleteClusters(ClusterRows, DeleteRows):
    title = "Delete clusters"
    model = Cluster
    material = ("name", "agents")
    warnings = (
        *DeleteRows.warnings,
        "Only a cluster without agents and pods can be deleted. Nothing on its machines is changed.",
    )

    def take(self, row: Any, *, given: Given) -> Logged | None:
        if Placement.objects.filter(Q(cluster=row) | Q(other=row)).exists() or row.pods.exists():
            raise StillUsed(row)
        return super().take(row, given=given)


class StillUsed(Conflict):
    def __init__(self, cluster: Any) -> None:
        super().__init__(
            f"not deleted: {cluster.placed} of {cluster.capacity} agents are placed there, or have pods there. Cordon"
            " the cluster and delete these agents, or give it up as lost for good."
        )
