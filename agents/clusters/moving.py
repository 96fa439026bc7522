"""Moves an agent from one live cluster to another: its old pod makes a backup, and its new pod starts with it.

The data at the old cluster stays until the new pod is ready. So a killed worker always leaves one complete state, and a
move that fails ends where it began. The placement records the stage of the move (`MoveStage`).

A stopped agent is placed on the new cluster at once. When it is started, it starts there with the backup that was made
when it stopped.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from agents import timeline
from agents.backups import repositories
from agents.backups.models import Backup, Kind
from agents.clusters import connections, placement
from agents.clusters.api import names, volumes
from agents.clusters.models import Cluster, MoveStage, Placement, Pod
from agents.models import Agent, Desired, Reason, Status
from agents.running import lifecycle
from agents.runtimes.base import RuntimeFailure
from config import background
from config.errors import Conflict

log = logging.getLogger(__name__)

ACTOR = "reconciler"
BATCH = 50
# A backup that began at most this long before the agent stopped has everything that the agent wrote, except what it
# wrote during the stop.
AS_IT_STOPPED = timedelta(minutes=5)


class NotMovable(Conflict):
    """The agent cannot move and stays where it is."""


@transaction.atomic
def move(agent: Agent, *, to: Cluster, actor: str, why: str = "") -> Agent:
    """Ask for a move. Raises NotMovable, BackupsAreOff, and WrongState and NotEntitled as a rebuild does."""
    repositories.check()
    agent = Agent.objects.lock(agent.pk)
    because = f": {why}" if why else ""
    if agent.status == Status.STOPPED and agent.desired == Desired.STOPPED:
        here = _place_of(agent, to=to)
        return _rest_there(agent, here, to, actor=actor, because=because)
    agent = lifecycle.move(agent, actor=actor, why=f"to cluster {to}{because}")
    _place_of(agent, to=to)
    placement.enter(Placement.objects.filter(pk=agent.pk), MoveStage.ASKED, other=to)
    return agent


def _place_of(agent: Agent, *, to: Cluster) -> Cluster:
    """The agent's cluster, which it may leave for `to`. Raises NotMovable."""
    placed = Placement.objects.select_for_update(of=("self",)).select_related("cluster", "other").filter(pk=agent.pk)
    here = placed.first()
    if settings.AGENT_RUNTIME != "kubernetes" or here is None:
        raise NotMovable("it is on no cluster")
    if here.cluster == to:
        raise NotMovable(f"it is on cluster {to} already")
    if here.move == MoveStage.OVER:
        raise NotMovable(f"what it left on cluster {here.other} is still being taken away: try again in some minutes")
    if here.move == MoveStage.BEGUN:
        raise NotMovable(f"its data is on cluster {here.other} until it is started on {here.cluster}")
    if why_not := _closed(to):
        raise NotMovable(why_not)
    return here.cluster


def _rest_there(agent: Agent, here: Cluster, to: Cluster, *, actor: str, because: str) -> Agent:
    """Place a stopped agent on the new cluster. Its disk stays on the old one until it was started. Nothing starts now,
    so this is allowed for unpaid agents too."""
    now = timezone.now()
    backup = Backup.objects.there().filter(agent=agent).first()
    if backup is None or backup.taken_at is None or backup.taken_at < agent.status_since - AS_IT_STOPPED:
        raise NotMovable("it has no backup of what it wrote before it stopped: resume it, and move it while it runs")
    if why_not := _no_way(backup):
        raise NotMovable(why_not)
    placement.enter(Placement.objects.filter(pk=agent.pk), MoveStage.BEGUN, cluster=to, other=here)
    agent.generation, agent.restores, agent.data_expected = agent.generation + 1, backup.pk, False
    agent.reconcile_at, agent.attempts = now, 0  # the rest of its pod is removed, without its disk
    agent.save(update_fields=["generation", "restores", "data_expected", "reconcile_at", "attempts"])
    words = f"from cluster {here} to {to} with backup {backup.name} once it is started{because}"
    timeline.note(agent, words, reason=Reason.MOVE, actor=actor, now=now)
    background.on_commit("agents.reconcile", agent.pk)
    return agent


@transaction.atomic
def set_out(agent: Agent, *, now: datetime) -> None:
    """Called when the old pod has made its backup, or cannot. Place the agent on the new cluster, or end the move."""
    agent = Agent.objects.lock(agent.pk)
    asked = Placement.objects.select_related("cluster", "other").filter(pk=agent.pk, move=MoveStage.ASKED).first()
    wanted = agent.desired == Desired.RUNNING and agent.operation == Reason.MOVE
    if asked is None or asked.other is None or not wanted:
        return
    backup = Backup.objects.there().filter(agent=agent, kind=Kind.REBUILD, generation=agent.generation).first()
    if why_not := _no_way(backup) or _closed(asked.other):
        placement.enter(Placement.objects.filter(pk=agent.pk), "", other=None)
        Agent.objects.filter(pk=agent.pk).update(operation=Reason.REBUILD)
        words = f"not moved to cluster {asked.other}: {why_not}"
        timeline.note(agent, words, reason=Reason.MOVE, actor=ACTOR, now=now)
    elif backup:
        here = Placement.objects.filter(pk=agent.pk)
        placement.enter(here, MoveStage.BEGUN, cluster=asked.other, other=asked.cluster)
        deadline = now + lifecycle.PROVISIONING_DEADLINE
        Agent.objects.filter(pk=agent.pk).update(restores=backup.pk, data_expected=False, deadline_at=deadline)
        words = f"from cluster {asked.cluster} to {asked.other} with backup {backup.name}"
        timeline.note(agent, words, reason=Reason.MOVE, actor=ACTOR, now=now)


def _no_way(backup: Backup | None) -> str:
    """Why this backup is not enough for a move, "" if it is: only complete data may be left behind for good."""
    if backup is None:
        return "its pod has made no backup"
    return "not all of its databases are whole in its backup" if backup.broken else ""


def _closed(cluster: Cluster) -> str:
    """Why the cluster takes no more agents, "" if it does. Every placement locks the rows of all clusters, so
    placements wait for each other."""
    list(Cluster.objects.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    row = Cluster.objects.get(pk=cluster.pk)
    placed = dict(Placement.objects.order_by().values_list("cluster").annotate(Count("pk")))
    reason = placement.closed(row, placed, now=timezone.now())
    return f"cluster {row} takes no other agent: it is {reason}" if reason else ""


@transaction.atomic
def go_back(agent: Agent, *, generation: int, why: str, now: datetime) -> bool:
    """The pod did not come up on the new cluster: build it again where its data is. False when the agent has not
    moved."""
    agent = Agent.objects.lock(agent.pk)
    if agent.desired != Desired.RUNNING or agent.generation != generation or agent.status != Status.PROVISIONING:
        return False
    there = placement.go_back(agent.pk)
    if there is None:
        return False
    Agent.objects.filter(pk=agent.pk).update(
        generation=generation + 1,
        operation=Reason.RECOVERY,  # the data of that pod is not backed up before the pod is removed
        restores="",
        data_expected=True,
        deadline_at=now + lifecycle.PROVISIONING_DEADLINE,
        cause="",
        cause_message="",
        reconcile_at=now,
        attempts=0,
    )
    words = f"not moved to cluster {there}, back where its data is: {why}"
    timeline.note(agent, words, reason=Reason.MOVE, actor=ACTOR, now=now)
    return True


def take_away_left() -> None:
    """Remove what moved agents have left on their old clusters. This is tried again until nothing is left."""
    for cluster in Cluster.objects.filter(moves__move=MoveStage.OVER).distinct():
        left = Placement.objects.filter(move=MoveStage.OVER, other=cluster).order_by("?")
        try:
            for agent_id in left.values_list("pk", flat=True)[:BATCH]:
                _take_away(agent_id, cluster)
        except RuntimeFailure as failure:
            about = {"cluster": cluster.name, "error": str(failure)}
            log.warning("the remains of an agent on an old cluster could not be removed", extra=about)


def _take_away(agent_id: str, cluster: Cluster) -> None:
    """Remove an agent's volume from the cluster that it left. The reconciler removes the pods there first, and keeps
    their logs.

    This waits while the agent's pod is being replaced. If an operator entered the same cluster twice, the agent's own
    volume has no pod at that moment, and must not be removed.
    """
    settled = Agent.objects.filter(pk=agent_id).exclude(status=Status.PROVISIONING).exists()
    if not settled or Pod.objects.filter(agent_id=agent_id, cluster=cluster).exists():
        return
    labels = names.labels(installation=connections.place(cluster).installation, agent_id=agent_id)
    if volumes.release_left(connections.of(cluster), labels=labels):
        left = Placement.objects.filter(pk=agent_id, move=MoveStage.OVER, other=cluster)
        placement.enter(left, "", other=None)
