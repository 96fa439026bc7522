"""Hands waiting messages over to the engines: each agent's messages in their order, tried again until its engine takes
them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from agents import timeline
from agents.inbound.models import ERROR_CHARACTERS, Ended, InboundMessage
from agents.models import Agent, Desired, Reason
from agents.pod.turns.failures import Hop, HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, inbound
from config import sql

log = logging.getLogger(__name__)

AGENTS_IN_ONE_RUN, OF_ONE_ACCOUNT, THREADS = 64, 4, 16
ROUND_SECONDS = 12.0  # a run begins with further agents for this long
AT_ONCE = 200  # messages of one agent in one run
READING_WAIT = timedelta(seconds=3)  # until the pod is asked again whether a turn is over
AGENT_SECONDS = 10.0  # a run begins with further messages of one agent for this long
LEASE = timedelta(seconds=90)  # longer than a run takes; until then no other worker hands over for the same agent
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=2), timedelta(minutes=1)
REFUSALS_IN_THE_WAY = 5  # after so many refusals of a message, the messages behind it are tried too
DROPPED_AFTER = timedelta(days=1)

_LOCK = 0x696E626F  # "inbo" in ASCII: the advisory lock that allows only one run
# All waiting messages of an agent are claimed at once, so that two workers never hand over for the same agent.
_CLAIM = """
UPDATE agents_inboundmessage SET due_at = %(until)s
WHERE due_at <= %(now)s AND agent_id IN (
    SELECT agent_id FROM (
        SELECT waiting.agent_id, min(waiting.due_at) AS due,
            row_number() OVER (PARTITION BY agent.user_id ORDER BY min(waiting.due_at)) AS number
        FROM agents_inboundmessage waiting JOIN agents_agent agent ON agent.id = waiting.agent_id
        WHERE waiting.due_at <= %(now)s GROUP BY waiting.agent_id, agent.user_id
    ) AS agents
    WHERE number <= %(each)s ORDER BY due LIMIT %(agents)s
)
RETURNING agent_id
"""


def hand_over_due(now: datetime | None = None) -> int:
    """Hand over the messages that are due. Returns the number of agents that had some.

    Only one run at a time works in the whole installation. So pods that do not answer block one worker's thread and no
    more.
    """
    now = now or timezone.now()
    with _only_run() as is_ours:
        agents = _claim(now) if is_ours else []
        until = time.monotonic() + ROUND_SECONDS
        with ThreadPoolExecutor(THREADS, thread_name_prefix="hand-over") as threads:
            list(threads.map(lambda agent_id: _in_a_thread(agent_id, now, until), agents))
    return len(agents)


@contextmanager
def _only_run() -> Iterator[bool]:
    """Yield whether this is the only run. The database connection holds the lock, so a killed worker releases it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        is_ours = bool(cursor.fetchone()[0])
        try:
            yield is_ours
        finally:
            if is_ours:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def _claim(now: datetime) -> list[str]:
    given = {"now": now, "until": now + LEASE, "each": OF_ONE_ACCOUNT, "agents": AGENTS_IN_ONE_RUN}
    return list(dict.fromkeys(agent_id for (agent_id,) in sql.rows(_CLAIM, given)))


def _in_a_thread(agent_id: str, now: datetime, until: float) -> None:
    """Hand over for one agent, in a thread of its own. After `until` the messages are left for the next run."""
    try:
        if time.monotonic() > until:
            _give_back(agent_id, due=now)
        else:
            hand_over(agent_id, now=now)
    except Exception:
        log.exception("messages could not be handed over", extra={"agent": agent_id})
    finally:
        connection.close()


def hand_over(agent_id: str, *, now: datetime) -> None:
    """Hand over this agent's messages until none is left, the time is over, or the engine takes no more.

    A message whose turn still runs is sent again a little later, because a restart may have cut the turn off. A message
    that the engine refuses stops those behind it for a few tries only: its content may be the reason.
    """
    agent = Agent.objects.get(pk=agent_id)
    until = time.monotonic() + AGENT_SECONDS
    waits = []
    for message in InboundMessage.objects.filter(agent=agent, due_at__isnull=False).order_by("pk")[:AT_ONCE]:
        if now - message.received_at > DROPPED_AFTER:
            _drop(agent, message, now=now)
        elif time.monotonic() > until:
            break
        else:
            try:
                is_over = _bring(agent, message)
            except HopFailure as failure:
                waits.append(_failed(message, str(failure)))
                if failure.hop != "engine" or message.attempts < REFUSALS_IN_THE_WAY:
                    break
            else:
                waits.append(READING_WAIT)
                if is_over:
                    _end(message, Ended.HANDED_OVER, now=now)
    _give_back(agent.pk, due=now + min(waits, default=READING_WAIT))


def _bring(agent: Agent, message: InboundMessage) -> bool:
    """Send the message to the pod. Returns whether its turn is over. Raises HopFailure when it is not taken."""
    endpoint = current_runtime().endpoint(agent.namespace) if agent.desired == Desired.RUNNING else None
    if endpoint is None:
        raise HopFailure(Hop.GATEWAY, "the agent has no pod that could take it")
    access = pods.access_of(agent)
    return inbound.hand_over(endpoint, access, channel=message.channel, name=message.name, body=message.body or "")


def _failed(message: InboundMessage, problem: str) -> timedelta:
    """Record the failure. Returns how long to wait: twice as long each time."""
    InboundMessage.objects.filter(pk=message.pk).update(
        attempts=F("attempts") + 1, last_error=problem[:ERROR_CHARACTERS]
    )
    wait: timedelta = FIRST_WAIT * 2 ** min(message.attempts, 10)
    return min(wait, LONGEST_WAIT)


def _end(message: InboundMessage, ended: Ended, *, now: datetime) -> None:
    """End the message, only once: a worker that comes late finds it ended."""
    waiting = InboundMessage.objects.filter(pk=message.pk, due_at__isnull=False)
    waiting.update(due_at=None, body=None, ended=ended, ended_at=now)


@transaction.atomic
def _drop(agent: Agent, message: InboundMessage, *, now: datetime) -> None:
    _end(message, Ended.DROPPED, now=now)
    note = f"a message of {message.channel} was dropped after a day: {message.last_error or 'it was never taken'}"
    timeline.note(agent, note, reason=Reason.CHANNEL, actor="service", now=now)


@transaction.atomic
def _give_back(agent_id: str, *, due: datetime) -> None:
    """Set the next due time of all waiting messages, including new ones. The agent's row is locked, as in `_keep` of
    agents/inbound/taking.py."""
    Agent.objects.only("id").lock(agent_id)
    InboundMessage.objects.filter(agent=agent_id, due_at__isnull=False).update(due_at=due)
