"""A backup before a pod is replaced or stopped, or an agent deleted. It delays these steps and never prevents them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings

from agents.backups import taking
from agents.backups.models import OPEN, Backup, Kind
from agents.cause import UNUSABLE_DATA
from agents.models import Agent, Reason
from agents.runtimes.base import Observation, Phase, Runtime
from config.operator_settings import operator_settings

ACTOR = "reconciler"
# A stop needs no backup when there is one younger than FRESH. A backup that takes longer than STOP_WAIT is given up,
# and the pod stops.
FRESH = timedelta(hours=1)
STOP_WAIT = timedelta(minutes=2)
# Phases of a pod whose data can be read.
_READABLE = {Phase.STARTING, Phase.READY, Phase.UNHEALTHY, Phase.FAILED}


def passed(agent: Agent, *, kind: Kind, namespaces: Iterable[str], runtime: Runtime) -> bool:
    """Whether the reconciler need not wait (any more): the backup was made, or failed, or no pod is there that could
    make it."""
    if (
        not settings.BACKUP_STORE
        or not agent.was_running
        or (kind == Kind.FINAL and not operator_settings.FINAL_BACKUP_DAYS)
    ):
        return True
    made = Backup.objects.filter(agent=agent, kind=kind, generation=agent.generation).first()
    if made:
        return made.stage not in OPEN
    observed = runtime.observe(agent.suffix)
    alive = next((name for name in namespaces if _is_readable(observed.get(name))), None)
    if alive is None:
        return True
    taking.ask(agent, kind=kind, actor=ACTOR, namespace=alive)
    return False


def stop_passed(agent: Agent, *, pod: Observation | None, now: datetime) -> bool:
    """Whether a running pod may be stopped now. A stopped agent cannot make a backup, so it makes one before.

    Agents of a suspended account stop at once. Other agents wait no longer than STOP_WAIT.
    """
    if not settings.BACKUP_STORE or agent.operation == Reason.SUSPENDED or not _is_readable(pod):
        return True
    newest = Backup.objects.filter(agent=agent, kind=Kind.STOP).order_by("-asked_at").first()
    if newest and newest.stage in OPEN:
        return now - newest.asked_at > STOP_WAIT
    if (newest and now - newest.asked_at < FRESH) or (agent.last_backup_at and now - agent.last_backup_at < FRESH):
        return True
    if not agent.was_running:
        return True
    made = taking.ask(agent, kind=Kind.STOP, actor=ACTOR)
    return made.kind != Kind.STOP and now - made.asked_at > STOP_WAIT


def _is_readable(pod: Observation | None) -> bool:
    return pod is not None and pod.gateway_alive and pod.phase in _READABLE and pod.cause not in UNUSABLE_DATA
