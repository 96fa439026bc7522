"""Repairs the life cycle once a minute: unsettled agents without a due time get one, pods that should not exist are
removed or reported, and running pods that nobody asks for figures or channels are asked again.

It also starts checks of clusters that were not checked recently.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from agents.channel_health import looking
from agents.clusters import checking, moving
from agents.models import Agent, Status
from agents.running import pods
from agents.runtimes import current_runtime
from agents.runtimes.base import Observation, Phase, Runtime, RuntimeFailure
from agents.spending import exchanging
from config import sql

log = logging.getLogger(__name__)

# The condition repeats that of the partial index `agent_forgotten` word for word. Otherwise the index is not used.
_WAKE_FORGOTTEN = """
UPDATE agents_agent SET reconcile_at = %s
WHERE reconcile_at IS NULL AND (
    status = 'provisioning' OR (NOT desired = status AND NOT (desired = 'running' AND status = 'failed'))
)
"""
_AGENTS_OF = """
SELECT id, suffix, generation, status FROM agents_agent
WHERE suffix IN (SELECT unnest(string_to_array(%s, ',')))
"""


def sweep(now: datetime | None = None) -> None:
    """Make every forgotten agent due, and have every running pod asked. Remove or report pods that should not exist."""
    now = now or timezone.now()
    runtime = current_runtime()
    wake_forgotten(now)
    observed = runtime.observe()
    agents = _agents_of(observed)
    for namespace, pod in observed.items():
        _judge(pod, agents.get(pods.suffix_of(namespace)), runtime, now)
    exchanging.begin_forgotten(now)
    looking.begin_forgotten(now)
    if settings.AGENT_RUNTIME == "kubernetes":
        checking.due(now)
        moving.take_away_left()


def _agents_of(namespaces: Iterable[str]) -> dict[str, Agent]:
    """The agents of these pods by suffix, as far as a sweep reads their rows.

    The suffixes are one value: a statement takes 65,535 at most.
    """
    suffixes = ",".join(map(pods.suffix_of, namespaces))
    return {agent.suffix: agent for agent in Agent.objects.raw(_AGENTS_OF, [suffixes])}


def wake_forgotten(now: datetime) -> int:
    """Agents between two states always have a due time. Set it for those that lost it. Returns their number."""
    return sql.execute(_WAKE_FORGOTTEN, [now])


def _judge(pod: Observation, agent: Agent | None, runtime: Runtime, now: datetime) -> None:
    """Remove a pod of a deleted agent; make an agent due whose pod should not run; only report a pod without an
    agent."""
    about = {"namespace": pod.namespace, "agent": agent.id if agent else None}
    if agent is None:
        log.error("a pod has no agent; it is not removed, because it may not be ours", extra=about)
    elif agent.status == Status.DELETED:
        log.warning("a pod of a deleted agent is removed", extra=about)
        _remove(pod.namespace, agent, runtime)
    elif pod.namespace != agent.namespace:
        log.warning("a pod of an earlier generation", extra=about)
        _make_due(agent, now)
    elif agent.status == Status.STOPPED and pod.phase != Phase.STOPPED:
        log.warning("a pod of a stopped agent runs", extra=about)
        _make_due(agent, now)


def _remove(namespace: str, agent: Agent, runtime: Runtime) -> None:
    """Remove a pod. If that fails now, the sweep goes on with the other pods, and the next sweep tries again."""
    try:
        runtime.delete(namespace, agent_id=agent.id, data=True)
    except RuntimeFailure as failure:
        log.warning("a pod could not be removed", extra={"namespace": namespace, "error": str(failure)})


def _make_due(agent: Agent, now: datetime) -> None:
    Agent.objects.filter(pk=agent.pk, reconcile_at__isnull=True).update(reconcile_at=now)
