"""An agent's events, oldest first, for callers that cannot host a receiver: what a webhook would get, to be fetched.

A poller hands in the last id it saw. That it misses nothing rests on `events.emit`: an agent's events have one order,
and become visible in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.conf import settings
from django.utils import timezone

from webhooks.errors import NoSuchEvent
from webhooks.models import Event, EventQuerySet
from webhooks.purging import EVENTS_KEPT

if TYPE_CHECKING:
    from agents.models import Agent

PAGE = 100
MAX_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class EventPage:
    """`bodies` are the stored texts: the very bytes that receivers get."""

    bodies: list[str]
    next_url: str | None


def page(agent: Agent, *, after: str | None = None, limit: int = PAGE) -> EventPage:
    """The events after the one named, or from the first that is kept. Raises NoSuchEvent naming `after`."""
    found = _kept(agent).oldest_first()
    if after is not None:
        found = found.later_than(_place(agent, after, field="after"))
    rows = list(found.values_list("pk", "body")[: limit + 1])
    shown = rows[:limit]
    next_url = _next_url(agent, after=shown[-1][0], limit=limit) if len(rows) > limit else None
    return EventPage([body for _, body in shown], next_url)


@dataclass(frozen=True, slots=True)
class Newest:
    events: list[Event]
    cursor: str | None  # of the next page, which is older


def newest(agent: Agent, *, before: str | None = None, limit: int = PAGE) -> Newest:
    """The same for people, who begin at the end. Raises NoSuchEvent naming `before`."""
    found = _kept(agent).newest_first()
    if before is not None:
        found = found.earlier_than(_place(agent, before, field="before"))
    rows = list(found[: limit + 1])
    return Newest(rows[:limit], rows[limit - 1].pk if len(rows) > limit else None)


def _kept(agent: Agent) -> EventQuerySet:
    return Event.objects.filter(agent=agent, created_at__gt=timezone.now() - EVENTS_KEPT)


def _place(agent: Agent, event_id: str, *, field: str) -> Event:
    found = Event.objects.of_agent(agent, event_id)
    if found is None:
        raise NoSuchEvent(field, event_id)
    return found


def _next_url(agent: Agent, *, after: str, limit: int) -> str:
    return f"{settings.BASE_URL}/agents/{agent.pk}/events?{urlencode({'after': after, 'limit': limit})}"
