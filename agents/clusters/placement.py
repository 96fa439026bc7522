"""Which cluster an agent's pods are on: chosen once, by room, and kept, for its volume cannot leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone

from agents.clusters.models import Cluster, MoveStage, Placement
from agents.runtimes.base import RuntimeFailure

SILENT_AFTER = timedelta(minutes=2)


class Closed(StrEnum):
    """Why a cluster takes no other agent."""

    FULL = "full"
    CORDONED = "cordoned"
    SILENT = "silent"


class NoCapacity(RuntimeFailure):
    def __init__(self, closed: Mapping[Closed, int]) -> None:
        counts = ", ".join(f"{closed.get(reason, 0)} {reason}" for reason in Closed)
        why = counts if closed else "there is none; an operator adds one"
        super().__init__(f"no cluster takes another agent: {why}", cause="NO_CAPACITY")


def cluster_of(agent_id: str) -> Cluster | None:
    """Where the agent is placed, if it is."""
    placed = Placement.objects.select_related("cluster").filter(pk=agent_id).first()
    return placed.cluster if placed else None


def place(agent_id: str) -> Cluster:
    """Where the agent is placed, from now on if it was not yet. Raises NoCapacity."""
    return cluster_of(agent_id) or _place(agent_id)


def everywhere(agent_id: str) -> list[Cluster]:
    """Where the agent is placed, and where its move comes from or leads to: wherever something of it may be."""
    placed = Placement.objects.select_related("cluster", "other").filter(pk=agent_id).first()
    return [one for one in (placed.cluster, placed.other) if one] if placed else []


def go_back(agent_id: str) -> Cluster | None:
    """A move that has begun ends where it came from; what is at the other place goes. None where none had begun."""
    moved = Placement.objects.select_related("cluster", "other").filter(pk=agent_id, move=MoveStage.BEGUN).first()
    if moved is None or moved.other is None:
        return None
    Placement.objects.filter(pk=agent_id).update(cluster=moved.other, other=moved.cluster, move=MoveStage.OVER)
    return moved.cluster


def arrived(agent_id: str) -> None:
    """Its pod is ready where it is placed: what it came with stays here for good."""
    moving = Placement.objects.filter(pk=agent_id).exclude(move="").first()
    if moving and moving.move == MoveStage.BEGUN:
        moving.move = MoveStage.OVER
        moving.save(update_fields=["move"])
    elif moving and moving.move == MoveStage.ASKED:  # it was stopped before it could leave
        moving.move, moving.other = "", None
        moving.save(update_fields=["move", "other"])


def forget(agent_id: str) -> None:
    """Nothing of the agent is left there."""
    Placement.objects.filter(pk=agent_id).delete()


def with_placed(clusters: QuerySet[Cluster]) -> QuerySet[Cluster]:
    """Each with `placed`, how many agents are there."""
    return clusters.annotate(placed=Count("placements"))


@transaction.atomic
def _place(agent_id: str) -> Cluster:
    """All who place agents wait for each other at the clusters' rows, so that what is counted stays true."""
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
    """The one with the largest share of its capacity free, of equals the first by name; None where all are closed.

    One that was never observed may be new, or its address may be wrong: it comes after those that are known to answer.
    """
    open_ = [one for one in clusters if not closed(one, placed, now=now)]
    order = {one.pk: (one.observed_at is None, placed.get(one.pk, 0) / one.capacity, one.name) for one in open_}
    return min(open_, key=lambda one: order[one.pk], default=None)


def closed(cluster: Cluster, placed: Mapping[int, int], *, now: datetime) -> Closed | None:
    """Why it takes no other agent, if it takes none. One that was never observed is new, not silent."""
    if cluster.cordoned:
        return Closed.CORDONED
    if placed.get(cluster.pk, 0) >= cluster.capacity:
        return Closed.FULL
    if cluster.observed_at is not None and now - cluster.observed_at > SILENT_AFTER:
        return Closed.SILENT
    return None
