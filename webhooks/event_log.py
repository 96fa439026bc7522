"""The events of an agent, oldest first, for callers that cannot receive webhooks and fetch the events instead.

A caller sends the last id that it saw. It misses no event because of `events.emit`: the events of an agent have one
order, and become visible in that order.
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
    """A page of events. `bodies` are the stored texts, the same bytes that receivers get."""

    bodies: list[str]
    next_url: str | None


def page(agent: Agent, *, after: str | None = None, limit: int = PAGE) -> EventPage:
    """The events after the named one, or from the oldest that is kept. Raises NoSuchEvent, which names `after`."""
    rows = list(later(agent, after).values_list("pk", "body")[: limit + 1])
    shown = rows[:limit]
    query = urlencode({"after": shown[-1][0], "limit": limit}) if len(rows) > limit else ""
    next_url = f"{settings.BASE_URL}/agents/{agent.pk}/events?{query}" if query else None
    return EventPage([body for _, body in shown], next_url)


def later(agent: Agent, after: str | None) -> EventQuerySet:
    """The events after the named one, the oldest first. Raises NoSuchEvent."""
    found = _kept(agent).oldest_first()
    return found if after is None else found.later_than(place(agent, after, field="after"))


@dataclass(frozen=True, slots=True)
class NewestEvents:
    events: list[Event]
    cursor: str | None  # of the next page, which has older events


def newest(agent: Agent, *, before: str | None = None, limit: int = PAGE) -> NewestEvents:
    """The same for people: the newest events first. Raises NoSuchEvent, which names `before`."""
    found = _kept(agent).newest_first()
    if before is not None:
        found = found.earlier_than(place(agent, before, field="before"))
    rows = list(found[: limit + 1])
    return NewestEvents(rows[:limit], rows[limit - 1].pk if len(rows) > limit else None)


def _kept(agent: Agent) -> EventQuerySet:
    return Event.objects.filter(agent=agent, created_at__gt=timezone.now() - EVENTS_KEPT)


def place(agent: Agent, event_id: str, *, field: str) -> Event:
    """The event at which the page before ended. Raises NoSuchEvent, which names the field."""
    found = Event.objects.of_agent(agent, event_id)
    if found is None:
        raise NoSuchEvent(field, event_id)
    return found
