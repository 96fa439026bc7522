"""Operators' actions on clusters that cannot be undone."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, Q, QuerySet

from agents.admin_steps import AgentStep
from agents.clusters import losing, moving, placement
from agents.clusters.models import Cluster, Placement
from agents.models import Agent, Desired, Status
from config.admin_steps import DeleteRows, Given, Logged, NameOrPerish, ReasonForm, Step
from config.errors import Conflict


def _shown(row: Any) -> dict[str, str]:
    return {
        "name": row.name,
        "region": row.region,
        "agents": f"{row.placed} of {row.capacity}",
        "last seen alive": f"{row.observed_at:%Y-%m-%d %H:%M:%S} UTC" if row.observed_at else "never",
    }


class LoseClusters(Step[Cluster]):
    name, title, button = "lose_clusters", "Lost for good", "Give it up for good"
    done = "Given up as lost for good"
    model = Cluster
    material = ("name",)
    alone = True
    in_transaction = False  # each agent leaves in a transaction of its own
    warnings = (
        "For a cluster that will never come back. Nothing is asked of it any more, and what it held is gone.",
        "It is cordoned: no agent comes here again.",
        "Agents that run start on other clusters, with their newest backups or empty disks, as their timelines say.",
        "Agents that are stopped or failed stay so. Asked to start, they start elsewhere in the same way.",
        "Should it come back after all, delete what it holds of Agentpods: two pods of one agent must not both run.",
    )

    def shown(self, row: Cluster) -> dict[str, str]:
        return _shown(row)

    def means(self, rows: list[Cluster]) -> list[str]:
        return [f"{getattr(row, 'placed', 0)} agents leave {row}." for row in rows]

    def form_of(self, sent: Any, rows: list[Cluster]) -> NameOrPerish:
        return NameOrPerish(sent, expected=rows[0].name)

    def take(self, row: Cluster, *, given: Given) -> Logged | None:
        left = losing.lose(row, actor=given.actor, now=given.now)
        if left:
            given.say(f"{left} agents still have to leave {row}. A worker sees to it; do it again if some stay.")
        return None

    def _all(self) -> QuerySet[Cluster]:
        return placement.with_placed(Cluster.objects.all())


class WhereTo(ReasonForm):
    to = forms.ModelChoiceField(Cluster.objects.filter(cordoned=False), label="To which cluster")


class MoveAgents(AgentStep):
    name, title, button, done = "move_agents", "Move agents to another cluster", "Move", "Asked to move"
    form = WhereTo
    material = ("status", "wanted", "cluster")
    warnings = (
        "The pod is replaced by one on the other cluster: what it is doing now is cut off. Its data goes by a backup"
        " that the old pod makes first; what the agent writes by itself in the last seconds of that stays behind.",
        "The old disk is kept until the new pod is ready. Should it not come up, the agent is built where it was.",
        "One that is stopped stays so: it begins there once it is started, with the backup made as it stopped.",
        "One that has failed moves if its pod can still make a backup; else it is built again where it is.",
        "Its names must lead to the other cluster too: that is your DNS, and what stands before the clusters.",
    )

    def among(self, chosen: QuerySet[Agent]) -> QuerySet[Agent]:
        placed = Placement.objects.filter(pk=OuterRef("pk"))
        stopped = Q(status=Status.STOPPED, desired=Desired.STOPPED)
        runs = Q(status__in=[Status.RUNNING, Status.FAILED], desired=Desired.RUNNING)
        return chosen.filter(stopped | runs, Exists(placed))

    def shown(self, row: Agent) -> dict[str, str]:
        return {**super().shown(row), "cluster": str(placement.cluster_of(row.pk) or "-")}

    def take(self, row: Agent, *, given: Given) -> Logged | None:
        moving.move(row, to=given.fields["to"], actor=given.actor, why=given.reason)
        return [(row, f"Asked to move to {given.fields['to']}: {given.reason}")]


class DeleteClusters(DeleteRows):
    title = "Delete clusters"
    model = Cluster
    material = ("name", "agents")
    warnings = (
        *DeleteRows.warnings,
        "Only one without agents and pods is deleted. Its machines keep what is on them.",
    )

    def shown(self, row: Any) -> dict[str, str]:
        return _shown(row)

    def take(self, row: Any, *, given: Given) -> Logged | None:
        if Placement.objects.filter(Q(cluster=row) | Q(other=row)).exists() or row.pods.exists():
            raise StillUsed(row)
        return super().take(row, given=given)

    def _all(self) -> QuerySet[Cluster]:
        return placement.with_placed(Cluster.objects.all())


class StillUsed(Conflict):
    def __init__(self, cluster: Any) -> None:
        super().__init__(
            f"not deleted: {cluster.placed} of {cluster.capacity} agents are placed there, or have pods there. Cordon"
            " it and delete these agents, or give it up as lost for good."
        )
