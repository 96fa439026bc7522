"""The cluster of an agent's pods. It is chosen once, by free room, and kept, because the agent's volume cannot leave
it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from agents.cause import Cause
from agents.clusters.models import Cluster, MoveStage, Placement
from agents.runtimes.base import RuntimeFailure
from config import states

SILENT_AFTER = timedelta(minutes=2)

# The stages of a move; "" is no move. A move that failed before it began may be asked for again.
TRANSITIONS: dict[str, set[str]] = {
    "": {MoveStage.ASKED, MoveStage.BEGUN},
    MoveStage.ASKED: {"", MoveStage.ASKED, MoveStage.BEGUN},
    MoveStage.BEGUN: {"", MoveStage.OVER},
    MoveStage.OVER: {""},
}


class Closed(StrEnum):
    """Why a cluster takes no more agents."""

    FULL = "full"
    CORDONED = "cordoned"
    SILENT = "silent"


class NoCapacity(RuntimeFailure):
    def __init__(self, closed: Mapping[Closed, int]) -> None:
        counts = ", ".join(f"{closed.get(reason, 0)} {reason}" for reason in Closed)
        why = counts if closed else "there is none; an operator adds one"
        super().__init__(f"no cluster takes another agent: {why}", cause=Cause.NO_CAPACITY)


def cluster_of(agent_id: str) -> Cluster | None:
    """The cluster where the agent is placed; None if it is not placed."""
    placed = Placement.objects.select_related("cluster").filter(pk=agent_id).first()
    return placed.cluster if placed else None


def place(agent_id: str) -> Cluster:
    """The cluster of the agent. Places the agent first if it is not placed yet. Raises NoCapacity."""
    return cluster_of(agent_id) or _place(agent_id)


def everywhere(agent_id: str) -> list[Cluster]:
    """The agent's cluster, and the other cluster of a move: all clusters that may have something of the agent."""
    placed = Placement.objects.select_related("cluster", "other").filter(pk=agent_id).first()
    return [one for one in (placed.cluster, placed.other) if one] if placed else []


def go_back(agent_id: str) -> Cluster | None:
    """End a move that has begun, back on the old cluster. The data on the new one is removed later. Returns the new
    cluster, or None when no move had begun."""
    moved = Placement.objects.select_related("cluster", "other").filter(pk=agent_id, move=MoveStage.BEGUN).first()
    if moved is None or moved.other is None:
        return None
    enter(Placement.objects.filter(pk=agent_id), MoveStage.OVER, cluster=moved.other, other=moved.cluster)
    return moved.cluster


def arrived(agent_id: str) -> None:
    """The pod is ready on its cluster: if the agent was moving, it stays here for good."""
    placed = Placement.objects.filter(pk=agent_id)
    stage = placed.values_list("move", flat=True).first()
    if stage == MoveStage.BEGUN:
        enter(placed, MoveStage.OVER)
    elif stage == MoveStage.ASKED:  # it was stopped before it could leave
        enter(placed, "", other=None)


def enter(rows: QuerySet[Placement], stage: str, **values: Cluster | None) -> int:
    """The only function that assigns the stage of a move, together with these clusters. Leaves out agents whose stage
    does not lead there. Returns how many entered it."""
    return rows.filter(move__in=states.before(TRANSITIONS, stage)).update(move=stage, **values)


def forget(agent_id: str) -> None:
    """Delete the placement: nothing of the agent is left on its cluster."""
    Placement.objects.filter(pk=agent_id).delete()


def with_placed(clusters: QuerySet[Cluster]) -> QuerySet[Cluster]:
    """The clusters, each with `placed`, the number of its agents."""
    return clusters.annotate(placed=Count("placements"))


@transaction.atomic
def _place(agent_id: str) -> Cluster:
    """Choose a cluster and place the agent there. Every placement locks the rows of all clusters, so the counts stay
    true."""
    clusters = list(Cluster.objects.select_for_update(no_key=True).order_by("pk"))
    if known := cluster_of(agent_id):
        return known
    placed = dict(Placement.objects.order_by().values_list("cluster").annotate(Count("pk")))
    now = timezone.now()
    chosen = choose(clusters, placed, now=now)
    if chosen is None:
        raise NoCapacity(Counter(reason for one in clusters if (reason := closed(one, placed, now=now))))
    Placement.objects.create(agent_id=agent_id, cluster=chosen)
    return chosen


def choose(clusters: Iterable[Cluster], placed: Mapping[int, int], *, now: datetime) -> Cluster | None:
    """The open cluster with the largest free share of its capacity, and of equal ones the first by name. None if all
    are closed.

    A cluster that was never observed may be new, or its address may be wrong. So it comes after clusters that are known
    to answer.
    """
    open_ = [one for one in clusters if not closed(one, placed, now=now)]
    order = {one.pk: (one.observed_at is None, placed.get(one.pk, 0) / one.capacity, one.name) for one in open_}
    return min(open_, key=lambda one: order[one.pk], default=None)


def closed(cluster: Cluster, placed: Mapping[int, int], *, now: datetime) -> Closed | None:
    """Why the cluster takes no more agents, or None. A cluster that was never observed is new, not silent."""
    if cluster.cordoned:
        return Closed.CORDONED
    if placed.get(cluster.pk, 0) >= cluster.capacity:
        return Closed.FULL
    if cluster.observed_at is not None and now - cluster.observed_at > SILENT_AFTER:
        return Closed.SILENT
    return None
