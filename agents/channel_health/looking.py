"""Asks the pods of running agents about their channels: each about once a minute, shared fairly between accounts.

A look asks the pod's gateway and costs no model call. agents/channel_health/telling.py decides what follows.
"""

from __future__ import annotations

import logging
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from django.utils import timezone

from agents.channel_health import telling
from agents.configuring.channels import WEB
from agents.models import Agent
from agents.pod.turns.failures import HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, management
from agents.runtimes.base import Access, Endpoint
from config import sql

log = logging.getLogger(__name__)

ASKED = 400  # agents in one run
OF_ONE_ACCOUNT = 20
THREADS = 16
ROUND_SECONDS = 20.0  # for this long a run asks further pods
ENLISTED = 2000  # channels in one run
LEASE = timedelta(minutes=2)  # no other run looks at a taken channel before this time

_UNASKED: dict[str, str | None] = {}

# The channels that must be looked at, of agents that began to run or got a channel. The conditions repeat those of the
# partial index `agent_listening`.
_MISSING = """
INSERT INTO agents_channelstate (agent_id, channel, look_at, revision, reason)
SELECT agent.id, known.name, %(now)s, 0, '' FROM agents_agent agent, unnest(agent.channels) AS known(name)
WHERE agent.status = 'running' AND agent.desired = 'running' AND agent.llm_key_hash IS NOT NULL
    AND NOT agent.channels <@ ARRAY['web']::varchar(20)[] AND known.name <> %(web)s
    AND NOT EXISTS (
        SELECT FROM agents_channelstate state
        WHERE state.agent_id = agent.id AND state.channel = known.name AND state.look_at IS NOT NULL
    )
"""
_ONE = " AND agent.id = %(agent)s"
_AT_MOST = " LIMIT %(limit)s"
_AGAIN = """
ON CONFLICT (agent_id, channel) DO UPDATE SET look_at = excluded.look_at WHERE agents_channelstate.look_at IS NULL
"""

# When two runs start together, the second one waits for the rows of the first one, and then finds them taken.
_TAKE = """
UPDATE agents_channelstate SET look_at = %(until)s
WHERE look_at <= %(now)s AND agent_id IN (
    SELECT agent_id FROM (
        SELECT state.agent_id, min(state.look_at) AS due,
            row_number() OVER (PARTITION BY agent.user_id ORDER BY min(state.look_at)) AS number
        FROM agents_channelstate state JOIN agents_agent agent ON agent.id = state.agent_id
        WHERE state.look_at <= %(now)s GROUP BY state.agent_id, agent.user_id
    ) AS waiting
    WHERE number <= %(each)s ORDER BY due LIMIT %(limit)s
)
RETURNING agent_id
"""


def begin(agent: Agent) -> None:
    """Look at the channels of this agent from now on: its pod has just begun or changed."""
    sql.execute(_MISSING + _ONE + _AGAIN, {"now": timezone.now(), "web": WEB, "agent": agent.pk})


def begin_forgotten(now: datetime) -> int:
    """Look at each channel that should be looked at and is not. It reads the rows of all agents with channels.

    Returns how many were missing.
    """
    return sql.execute(_MISSING + _AT_MOST + _AGAIN, {"now": now, "web": WEB, "limit": ENLISTED})


def look_at_due(now: datetime | None = None) -> int:
    """Ask the pods whose channels are due, and record what follows from the answers. Returns how many agents were
    due."""
    now = now or timezone.now()
    taken = sql.rows(_TAKE, {"now": now, "until": now + LEASE, "each": OF_ONE_ACCOUNT, "limit": ASKED})
    if not taken:
        return 0
    agents = list(Agent.objects.filter(pk__in={agent_id for (agent_id,) in taken}))
    secrets.SystemRandom().shuffle(agents)  # so that slow pods do not always delay the same other ones
    runtime = current_runtime()
    asked = [(agent, runtime.endpoint(agent.namespace) if telling.listens(agent) else None) for agent in agents]
    until = time.monotonic() + ROUND_SECONDS
    with ThreadPoolExecutor(THREADS, thread_name_prefix="channels") as threads:
        said = list(threads.map(lambda one: _ask_in_time(*one, until=until), asked))
    for agent, states in zip(agents, said, strict=True):
        if states is not _UNASKED:
            telling.note(agent, states, now=now)
    return len(agents)


def _ask_in_time(agent: Agent, endpoint: Endpoint | None, *, until: float) -> dict[str, str | None] | None:
    """Ask one pod, in a thread of its own that needs no database. None: no answer, which does not make a channel
    silent.

    After `until` the pod is not asked; it is due again when the lease ends.
    """
    if endpoint is None:
        return None
    if time.monotonic() > until:
        return _UNASKED
    access: Access = pods.access_of(agent)
    try:
        return management.channels(endpoint, access, wanted=[name for name in agent.channels if name != WEB])
    except HopFailure:
        return None
    except Exception:
        log.exception("a pod's channels could not be checked", extra={"agent": agent.pk})
        return None
