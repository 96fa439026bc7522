"""Gives up a cluster that will never come back. Its agents start again on other clusters, with their newest backups or
with empty disks.

Nothing is asked of the cluster. Each agent gets a new generation, so that a namespace which appears later is not taken
for its pod.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from agents import timeline
from agents.clusters import placement
from agents.clusters.models import Cluster, MoveStage, Placement, Pod
from agents.models import Agent, Desired, Reason, Status
from agents.running import lifecycle
from config import background
from config.errors import Conflict

log = logging.getLogger(__name__)

ALIVE = timedelta(minutes=2)
BATCH = 200  # agents in one batch; an operator's page waits for one batch


class StillAlive(Conflict):
    def __init__(self, cluster: Cluster, *, ago: timedelta) -> None:
        super().__init__(
            f"cluster {cluster} was last seen {ago.total_seconds():.0f} s ago: it can be given up only after"
            f" {ALIVE.total_seconds():.0f} s of silence"
        )


def lose(cluster: Cluster, *, actor: str, now: datetime) -> int:
    """Give the cluster up: no agent is placed here again, and a first batch of its agents leaves.

    Returns how many agents are left; a worker goes on with them. Raises StillAlive.
    """
    _cordon(cluster, now=now)
    left = _batch(cluster, actor=actor)
    if left:
        background.on_commit("agents.lose_cluster", str(cluster.pk), actor)
    return left


def go_on(cluster_id: str, *, actor: str) -> None:
    """Let the rest of the agents leave. Raises StillAlive when the cluster has come back in the meantime."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    left: int | None = None
    while cluster and left != 0:
        _cordon(cluster, now=timezone.now())
        before, left = left, _batch(cluster, actor=actor)
        if left == before:
            return  # none of these agents can leave; the log says why


@transaction.atomic
def _cordon(cluster: Cluster, *, now: datetime) -> None:
    row = Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
    if row.observed_at is not None and now - row.observed_at < ALIVE:
        raise StillAlive(row, ago=now - row.observed_at)
    Cluster.objects.filter(pk=row.pk).update(cordoned=True)


def _batch(cluster: Cluster, *, actor: str) -> int:
    """Let some of its agents leave. Returns how many are left. An agent that cannot leave does not stop the others."""
    placement.enter(Placement.objects.filter(other=cluster), "", other=None)  # moves to or from it
    placed = Placement.objects.filter(cluster=cluster)
    for agent_id in list(placed.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        try:
            _leave(agent_id, cluster, actor=actor, now=timezone.now())
        except Exception:
            log.exception(
                "an agent could not be moved away from a lost cluster",
                extra={"agent": agent_id, "cluster": cluster.name},
            )
    left = placed.count()
    if not left:
        Pod.objects.filter(cluster=cluster).delete()  # rows of agents that are placed elsewhere by now
    return left


@transaction.atomic
def _leave(agent_id: str, cluster: Cluster, *, actor: str, now: datetime) -> None:
    """Let one agent leave the cluster. The agent's row is locked first, as everywhere."""
    agent = Agent.objects.locked().filter(pk=agent_id).first()
    is_back = Placement.objects.filter(pk=agent_id, cluster=cluster, move=MoveStage.BEGUN).exists()
    if is_back:
        placement.go_back(agent_id)
        placement.enter(Placement.objects.filter(pk=agent_id), "", other=None)
    Placement.objects.filter(pk=agent_id, cluster=cluster).delete()
    Pod.objects.filter(agent_id=agent_id, cluster=cluster).delete()
    if agent is None or agent.status == Status.DELETED:
        return
    if is_back:
        words = f"cluster {cluster} is lost: not moved there, its data is where it was"
        timeline.note(agent, words, reason=Reason.RECOVERY, actor=actor, now=now)
        Agent.objects.filter(pk=agent_id).update(data_expected=True, restores="")
    else:
        _begin_anew(agent, cluster, actor=actor, now=now)
    if agent.status == Status.RUNNING and agent.desired == Desired.RUNNING:
        lifecycle.recover(agent, generation=agent.generation, note="built again on another cluster", now=now)
        return
    deadline = now + lifecycle.PROVISIONING_DEADLINE if agent.status == Status.PROVISIONING else agent.deadline_at
    Agent.objects.filter(pk=agent_id).update(
        generation=agent.generation + 1, deadline_at=deadline, reconcile_at=now, attempts=0
    )


def _begin_anew(agent: Agent, cluster: Cluster, *, actor: str, now: datetime) -> None:
    backup = lifecycle.newest_backup(agent)
    kept = f"; its data is restored from backup {backup.name}" if backup else ""
    words = f"cluster {cluster} is lost, and the agent's data with it{kept}"
    timeline.note(agent, words, reason=Reason.RECOVERY, actor=actor, now=now)
    restores = backup.pk if backup else ""  # "": the agent starts with an empty disk, as expected
    Agent.objects.filter(pk=agent.pk).update(data_expected=False, restores=restores)
