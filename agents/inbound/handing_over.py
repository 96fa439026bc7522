"""Handing over what waits: to each agent its messages in their order, again and again until its engine takes them."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from agents import pods
from agents.inbound.models import ERROR_CHARACTERS, Ended, InboundMessage
from agents.models import Agent, Desired, Reason, Transition
from agents.runtimes import current_runtime, inbound
from agents.runtimes.management import HopFailure

log = logging.getLogger(__name__)

AGENTS_AT_ONCE, THREADS = 64, 8
AT_ONCE = 50  # messages of one agent in one run
READING_WAIT = timedelta(seconds=3)  # until it is asked again whether a turn is over
AGENT_SECONDS = 20.0  # for the messages of one agent in one run
LEASE = timedelta(seconds=90)  # longer than a run takes: until then no other worker hands over for the same agent
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=2), timedelta(minutes=1)
DROPPED_AFTER = timedelta(days=1)

# All that an agent has waiting is claimed at once, so that two workers never hand over for one agent. Of two runs at
# the same time the second waits for the first one's rows, and then finds them claimed.
_CLAIM = """
UPDATE agents_inboundmessage SET due_at = %(until)s
WHERE due_at <= %(now)s AND agent_id IN (
    SELECT agent_id FROM agents_inboundmessage WHERE due_at <= %(now)s
    GROUP BY agent_id ORDER BY min(due_at) LIMIT %(agents)s
)
RETURNING agent_id
"""


def hand_over_due(now: datetime | None = None) -> int:
    """Hand over what is due. Returns for how many agents something was."""
    now = now or timezone.now()
    agents = _claim(now)
    with ThreadPoolExecutor(THREADS, thread_name_prefix="hand-over") as threads:
        list(threads.map(lambda agent_id: _in_a_thread(agent_id, now), agents))
    return len(agents)


def _claim(now: datetime) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"now": now, "until": now + LEASE, "agents": AGENTS_AT_ONCE})
        return list(dict.fromkeys(row[0] for row in cursor.fetchall()))


def _in_a_thread(agent_id: str, now: datetime) -> None:
    try:
        hand_over(agent_id, now=now)
    except Exception:
        log.exception("messages are not handed over", extra={"agent": agent_id})
    finally:
        connection.close()


def hand_over(agent_id: str, *, now: datetime) -> None:
    """Hand over what this agent has waiting, until there is nothing more, no time, or the engine takes no more.

    One whose turn runs is brought again a little later: a restart may have cut it off.
    """
    agent = Agent.objects.get(pk=agent_id)
    until = time.monotonic() + AGENT_SECONDS
    wait = READING_WAIT
    for message in InboundMessage.objects.filter(agent=agent, due_at__isnull=False).order_by("pk")[:AT_ONCE]:
        if now - message.received_at > DROPPED_AFTER:
            _drop(agent, message, now=now)
        elif time.monotonic() > until:
            break
        else:
            try:
                is_over = _bring(agent, message)
            except HopFailure as failure:
                wait = _failed(message, str(failure))
                break
            if is_over:
                _end(message, Ended.HANDED_OVER, now=now)
    _give_back(agent, due=now + wait)


def _bring(agent: Agent, message: InboundMessage) -> bool:
    """Whether its turn is over. Raises HopFailure while nobody takes it."""
    endpoint = current_runtime().endpoint(agent.namespace) if agent.desired == Desired.RUNNING else None
    if endpoint is None:
        raise HopFailure("gateway", "the agent has no pod that could take it")
    access = pods.access_of(agent)
    return inbound.hand_over(endpoint, access, channel=message.channel, name=message.name, body=message.body or "")


def _failed(message: InboundMessage, problem: str) -> timedelta:
    """How long to wait: twice as long each time."""
    InboundMessage.objects.filter(pk=message.pk).update(
        attempts=F("attempts") + 1, last_error=problem[:ERROR_CHARACTERS]
    )
    wait: timedelta = FIRST_WAIT * 2 ** min(message.attempts, 10)
    return min(wait, LONGEST_WAIT)


def _end(message: InboundMessage, ended: Ended, *, now: datetime) -> None:
    """Only once: a worker that comes late finds it ended."""
    waiting = InboundMessage.objects.filter(pk=message.pk, due_at__isnull=False)
    waiting.update(due_at=None, body=None, ended=ended, ended_at=now)


@transaction.atomic
def _drop(agent: Agent, message: InboundMessage, *, now: datetime) -> None:
    _end(message, Ended.DROPPED, now=now)
    note = f"a message of {message.channel} was dropped after a day: {message.last_error or 'it was never taken'}"
    Transition.objects.create(
        agent=agent, from_status=agent.status, to_status=agent.status, reason=Reason.CHANNEL, actor="service",
        note=note, at=now,
    )  # fmt: skip


@transaction.atomic
def _give_back(agent: Agent, *, due: datetime) -> None:
    """What still waits, also what came meanwhile; the agent's row is what who takes one holds too."""
    Agent.objects.select_for_update(no_key=True).only("id").get(pk=agent.pk)
    InboundMessage.objects.filter(agent=agent, due_at__isnull=False).update(due_at=due)
