"""Events of agents. Each is written in the transaction of the change that it reports (docs/spec.md: Events).

The events of an agent have one order, by `createdAt`, and become visible in that order. To ensure this, `emit` locks
the agent's row until its transaction ends, and gives the event a later time than all events before. So a reader of the
log who continues after the last event seen misses none.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Max

from config import background, sql
from config.ids import new_id
from webhooks.event_types import EventType, LoggedType
from webhooks.models import Delivery, Event

if TYPE_CHECKING:
    from agents.models import Agent

SHOWN = ("status", "name", "engine", "tier", "endpoint_url")
TICK = timedelta(microseconds=1)


@transaction.atomic(savepoint=False)
def emit(agent: Agent, event_type: EventType, data: dict[str, Any], *, now: datetime) -> Event:
    """Write the event, and its delivery if the agent has a hook. Both roll back with the change that caused them."""
    event = _write(agent, event_type, data, now=now)
    # Until the transaction ends, the removal of the hook waits; then it cancels the delivery.
    if sql.rows("SELECT id FROM webhooks_hook WHERE agent_id = %s FOR KEY SHARE", [agent.pk]):
        is_test = event_type == EventType.TEST
        delivered = {"event": event, "agent": agent, "is_test": is_test}
        Delivery.objects.create(**delivered, next_attempt_at=now, created_at=event.created_at)
        background.on_commit("webhooks.drain")
    return event


@transaction.atomic(savepoint=False)
def log(agent: Agent, event_type: LoggedType, data: dict[str, Any], *, now: datetime) -> Event:
    """Write an event that is only in the logs: no receiver gets it."""
    return _write(agent, event_type, data, now=now)


def _write(agent: Agent, event_type: EventType | LoggedType, data: dict[str, Any], *, now: datetime) -> Event:
    agent = in_turn(agent)
    created_at = _after_the_last(agent, now)
    event_id = new_id("evt")
    body = _body(event_id, agent, event_type, data, created_at=created_at)
    return Event.objects.create(id=event_id, agent=agent, type=event_type, body=body, created_at=created_at)


def in_turn(agent: Agent) -> Agent:
    """Lock the agent's row until the transaction ends and return it as it is now.

    Lock it before its hook and deliveries.
    """
    return type(agent).objects.only(*SHOWN).lock(agent.pk)


def _after_the_last(agent: Agent, now: datetime) -> datetime:
    """Now, or just after the agent's last event if that is later: another event came first, or the
    clock was set back.
    """
    last: datetime | None = Event.objects.filter(agent=agent).aggregate(last=Max("created_at"))["last"]
    return max(now, last + TICK) if last else now


def _body(
    event_id: str, agent: Agent, event_type: EventType | LoggedType, data: dict[str, Any], *, created_at: datetime
) -> str:
    """The text that is stored, signed and sent. It is serialised only here."""
    event = {
        "id": event_id,
        "type": str(event_type),
        "createdAt": _timestamp(created_at),
        "agent": {
            "id": agent.pk,
            "status": str(agent.status),
            "name": agent.name,
            "engine": agent.engine,
            "tier": agent.tier,
            "endpointUrl": agent.endpoint_url,
        },
        "data": data,
    }
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _timestamp(moment: datetime) -> str:
    """The time as text. It always has microseconds, so that texts sort like the events."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
