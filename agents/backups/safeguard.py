"""A backup before a pod is replaced or an agent deleted. It delays them, and never stops them."""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings

from agents.backups import taking
from agents.backups.models import OPEN, Backup, Kind
from agents.models import Agent
from agents.runtimes.base import DATA_LOST, Observation, Phase, Runtime

ACTOR = "reconciler"
# Phases of a pod with data of its agent that can be read.
_READABLE = {Phase.STARTING, Phase.READY, Phase.UNHEALTHY, Phase.FAILED}


def passed(agent: Agent, *, kind: Kind, namespaces: Iterable[str], runtime: Runtime) -> bool:
    """Whether there is nothing to wait for any more: it was made, or failed, or there is no pod that could make it."""
    if not settings.BACKUP_STORE or not agent.was_running or (kind == Kind.FINAL and not settings.FINAL_BACKUP_DAYS):
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


def _is_readable(pod: Observation | None) -> bool:
    return pod is not None and pod.gateway_alive and pod.phase in _READABLE and pod.cause != DATA_LOST
