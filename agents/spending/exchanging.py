"""Reads what the pods' gateways have counted, about twice a minute, and tells them limits, prices and what was spent.

A gateway hands its figures over in numbered batches, and the same one again until its number is confirmed. A batch is
added to the figures in the transaction that stores its number. So each batch counts exactly once, whoever is killed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from agents.egress import visits
from agents.models import Agent, Desired, Spending, Status
from agents.pod.turns.failures import HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, pod_spending
from agents.runtimes.base import Endpoint
from agents.runtimes.pod_spending import SpendingBatch
from agents.spending import adding, news, telling
from config import sql

log = logging.getLogger(__name__)

PERIOD = timedelta(seconds=20)
ASKED = 400  # agents in one run
OF_ONE_ACCOUNT = 50  # asked first; its further agents get what room the others leave
THREADS = 16
ROUND_SECONDS = 10.0  # for this long a run asks further pods
ENLISTED = 2000
LEASE = timedelta(seconds=45)  # no other run asks a taken pod before this time
_LATE = "late"

# Which agents must be asked: their pods may be counting. A row without a time is of one that did not run.
_MISSING = """
INSERT INTO agents_spending (agent_id, read_at)
SELECT agent.id, %(now)s FROM agents_agent agent
WHERE agent.status = 'running' AND agent.desired = 'running'
    AND (agent.llm_key_hash IS NOT NULL OR EXISTS (SELECT FROM agents_egress e WHERE e.agent_id = agent.id))
    AND NOT EXISTS (SELECT FROM agents_spending s WHERE s.agent_id = agent.id AND s.read_at IS NOT NULL)
"""
_ONE = " AND agent.id = %(agent)s"
_AT_MOST = " LIMIT %(limit)s"
_AGAIN = """
ON CONFLICT (agent_id) DO UPDATE SET read_at = excluded.read_at WHERE agents_spending.read_at IS NULL
"""
# When two runs start together, the second one waits for the rows of the first one, and then finds them taken.
_TAKE = """
UPDATE agents_spending taken SET read_at = %(until)s
FROM (
    SELECT agent_id, number > %(each)s AS is_further FROM (
        SELECT s.agent_id, s.read_at, row_number() OVER (PARTITION BY agent.user_id ORDER BY s.read_at) AS number
        FROM agents_spending s JOIN agents_agent agent ON agent.id = s.agent_id WHERE s.read_at <= %(now)s
    ) AS waiting
    ORDER BY is_further, read_at LIMIT %(limit)s
) AS chosen
WHERE taken.read_at <= %(now)s AND taken.agent_id = chosen.agent_id
RETURNING taken.agent_id, chosen.is_further
"""


def exchange_due(now: datetime | None = None) -> int:
    """Exchange figures with the pods that are due. Returns how many were due."""
    now = now or timezone.now()
    values = {"now": now, "until": now + LEASE, "each": OF_ONE_ACCOUNT, "limit": ASKED}
    is_further: dict[str, bool] = dict(sql.rows(_TAKE, values))
    if not is_further:
        return 0
    agents = list(Agent.objects.select_related("egress").filter(pk__in=is_further))
    # Pods that are slow to answer make only further agents of their account wait, and nobody else's.
    agents.sort(key=lambda agent: is_further[agent.pk])
    resting = [agent.pk for agent in agents if not _counts(agent)]
    Spending.objects.filter(pk__in=resting).update(read_at=None)
    asked = _exchange([agent for agent in agents if _counts(agent)], now=now)
    Spending.objects.filter(pk__in=asked).update(read_at=now + PERIOD)
    return len(agents)


def begin_forgotten(now: datetime) -> int:
    """Ask each pod that should be asked and is not. It reads the rows of all running agents.

    Returns how many were missing.
    """
    return sql.execute(_MISSING + _AT_MOST + _AGAIN, {"now": now, "limit": ENLISTED})


def exchange(agent_id: str) -> None:
    """Exchange figures with this agent's pod now, if it runs."""
    agent = Agent.objects.filter(pk=agent_id).first()
    if agent is not None:
        _exchange([agent], now=timezone.now())


def refresh(agent: Agent) -> None:
    """Exchange figures with the agent's pod, which has just begun or changed, and from now on again and again."""
    if _may_count(agent):
        keep(agent, agent.namespace)
        sql.execute(_MISSING + _ONE + _AGAIN, {"now": timezone.now(), "agent": agent.pk})


def keep(agent: Agent, namespace: str) -> None:
    """Get the last figures of a pod that ends. A step of the reconciler never fails because of it."""
    now = timezone.now()
    try:
        endpoint = current_runtime().endpoint(namespace)
        batch = _asked(agent, endpoint, news.of([agent], now=now)[agent.pk]) if endpoint else None
        if batch:
            _add(agent, batch, now=now)
    except Exception:
        log.exception("a pod's last figures could not be kept", extra={"agent": agent.pk, "namespace": namespace})


def _counts(agent: Agent) -> bool:
    """Whether the agent's pod may be counting something."""
    return agent.status == Status.RUNNING and agent.desired == Desired.RUNNING and _may_count(agent)


def _may_count(agent: Agent) -> bool:
    """Whether there may be figures: of model calls, or of visits to hosts."""
    return agent.llm_key_hash is not None or hasattr(agent, "egress")


def _exchange(agents: list[Agent], *, now: datetime) -> list[str]:
    """Exchange figures with these agents' pods. Returns the ids of those that were asked in time."""
    told, runtime = news.of(agents, now=now), current_runtime()
    asked = [(agent, runtime.endpoint(agent.namespace), told[agent.pk]) for agent in agents]
    until = time.monotonic() + ROUND_SECONDS
    with ThreadPoolExecutor(THREADS, thread_name_prefix="spending") as threads:
        batches = list(threads.map(lambda one: _asked_in_time(*one, until=until), asked))
    for agent, batch in zip(agents, batches, strict=True):
        if isinstance(batch, SpendingBatch) and not _is_known(batch, told[agent.pk]):
            _add_safely(agent, batch, now=now)
    return [agent.pk for agent, batch in zip(agents, batches, strict=True) if batch is not _LATE]


def _add_safely(agent: Agent, batch: SpendingBatch, *, now: datetime) -> None:
    """A pod may hand over what the database cannot take. Then the figures of all other pods are still added."""
    try:
        _add(agent, batch, now=now)
    except Exception:
        log.exception("a pod's figures could not be added", extra={"agent": agent.pk})


def _add(agent: Agent, batch: SpendingBatch, *, now: datetime) -> None:
    adding.add(agent, batch, now=now)
    telling.tell(agent, now=now)
    if batch.egress:
        visits.add(agent, batch.egress)


def _is_known(batch: SpendingBatch, told: Mapping[str, Any]) -> bool:
    """Whether the gateway has counted nothing since."""
    egress, known = batch.egress, told["egress"]
    if egress and (egress.book, egress.number, egress.is_walled) != (known["book"], known["ack"], known["walled"]):
        return False
    return (batch.book, batch.number) == (told["book"], told["ack"])


def _asked_in_time(
    agent: Agent, endpoint: Endpoint | None, told: Mapping[str, Any], *, until: float
) -> SpendingBatch | str | None:
    """Ask one pod, in a thread of its own that needs no database. After `until` the pod is not asked; it is due again
    when the lease ends.
    """
    if time.monotonic() > until:
        return _LATE
    try:
        return _asked(agent, endpoint, told)
    except Exception:
        log.exception("a pod's figures could not be read", extra={"agent": agent.pk})
        return None


def _asked(agent: Agent, endpoint: Endpoint | None, told: Mapping[str, Any]) -> SpendingBatch | None:
    """The pod's batch; None if its gateway does not give it."""
    if endpoint is None:
        return None
    try:
        return pod_spending.exchange(endpoint, pods.access_of(agent), told)
    except HopFailure as failure:
        log.info("a pod's figures could not be read", extra={"agent": agent.pk, "error": str(failure)})
        return None
