"""The events of all agents of an account, deleted ones too, in one order in which no reader misses any.

Transactions of different agents commit in any order, so neither time nor id says what a reader has not seen yet. An
event gets its place when the account reads, after the event has been committed, and behind all places that were given
before. A late event gets a late place. The events of one agent keep their order.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from config import sql
from config.ids import is_id
from webhooks.errors import NoSuchEvent
from webhooks.event_log import PAGE, EventPage
from webhooks.models import Event, EventQuerySet
from webhooks.purging import EVENTS_KEPT

AT_ONCE = 5_000  # events that get their place in one transaction
LOCK = 0x45564E54  # "EVNT": apart from other advisory locks

_UNPLACED = """
    SELECT event.id FROM webhooks_event event JOIN agents_agent agent ON agent.id = event.agent_id
    WHERE agent.user_id = %s AND event.place IS NULL
"""
_PLACE = f"""
    WITH unplaced AS ({_UNPLACED} ORDER BY event.created_at, event.id LIMIT {AT_ONCE}),
    placed AS (SELECT id, nextval('webhooks_event_place') AS place FROM unplaced)
    UPDATE webhooks_event SET place = placed.place, account = %s FROM placed WHERE webhooks_event.id = placed.id
    RETURNING webhooks_event.id
"""  # noqa: S608 # of constants


def page(user_id: str, *, only: str | None = None, after: str | None = None, limit: int = PAGE) -> EventPage:
    """The events after the named one, or from the oldest that is kept. Raises NoSuchEvent, which names `after`.

    `only` is the id of the one agent that the caller may see.
    """
    rows = list(later(user_id, after, only=only)[: limit + 1])
    shown = rows[:limit]
    query = urlencode({"after": shown[-1].pk, "limit": limit}) if len(rows) > limit else ""
    return EventPage([event.body for event in shown], f"{settings.BASE_URL}/events?{query}" if query else None)


def later(user_id: str, after: str | None, *, only: str | None = None) -> EventQuerySet:
    """The events after the named one, in their order. Raises NoSuchEvent."""
    _give_places(user_id)
    own = Event.objects.filter(account=user_id)
    if only is not None:
        own = own.filter(agent=only)
    kept = own.filter(place__isnull=False, created_at__gt=timezone.now() - EVENTS_KEPT)
    if after is not None:
        seen = own.filter(pk=after).first() if is_id("evt", after) else None
        if seen is None:
            raise NoSuchEvent("after", after, of="your agents")
        kept = kept.filter(place__gt=seen.place)
    return kept.order_by("place")


def _give_places(user_id: str) -> None:
    """Give each event that is committed by now its place. Mostly there is none, and nothing is written."""
    while sql.rows(f"{_UNPLACED} LIMIT 1", [user_id]):
        with transaction.atomic():
            # One reader of an account at a time, so the places it gives are later than all that others gave.
            sql.rows("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [LOCK, user_id])
            sql.rows(_PLACE, [user_id, user_id])
