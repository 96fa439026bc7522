"""What makes the life cycle true once a minute: nothing unsettled without a due time, no pod without an agent."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db.models import F, Q
from django.utils import timezone

from agents.models import Agent, Desired, Status
from agents.reconciler import suffix_of
from agents.runtimes import current_runtime
from agents.runtimes.base import Runtime

log = logging.getLogger(__name__)


def sweep(now: datetime | None = None) -> None:
    """Make every forgotten agent due, and remove or report pods that should not be there."""
    now = now or timezone.now()
    runtime = current_runtime()
    wake_forgotten(now)
    for namespace in runtime.observe():
        _judge(namespace, runtime, now)


def wake_forgotten(now: datetime) -> int:
    """Agents between two states, or behind their revision, always have a due time; give it to those that lost it."""
    unsettled = Q(status=Status.PROVISIONING) | ~Q(desired=F("status")) & ~Q(
        status=Status.FAILED, desired=Desired.RUNNING
    )
    return Agent.objects.filter(unsettled, reconcile_at__isnull=True).update(reconcile_at=now)


def _judge(namespace: str, runtime: Runtime, now: datetime) -> None:
    """A pod of a deleted agent is removed, an earlier generation's is made due, a stranger's is only reported."""
    agent = Agent.objects.filter(suffix=suffix_of(namespace)).first()
    if agent is None:
        log.error("a pod without an agent: not ours to remove", extra={"namespace": namespace})
    elif agent.status == Status.DELETED:
        log.warning("a pod of a deleted agent is removed", extra={"namespace": namespace, "agent": agent.id})
        runtime.delete(namespace, agent_id=agent.id, data=True)
    elif namespace != agent.namespace:
        log.warning("a pod of an earlier generation", extra={"namespace": namespace, "agent": agent.id})
        Agent.objects.filter(pk=agent.pk, reconcile_at__isnull=True).update(reconcile_at=now)
