"""The delivery log of an agent: one entry for each event, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.conf import settings
from django.utils import timezone

from webhooks.errors import NoSuchEvent
from webhooks.models import Delivery, Event
from webhooks.purging import DELIVERIES_KEPT

if TYPE_CHECKING:
    from agents.models import Agent

MAX_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class DeliveryPage:
    deliveries: list[Delivery]
    next_url: str | None


def page(agent: Agent, *, limit: int = MAX_PAGE, cursor: str | None = None) -> DeliveryPage:
    """A page of the deliveries that are pending or ended within seven days.

    Raises NoSuchEvent, which names `cursor`.
    """
    found = Delivery.objects.kept(since=timezone.now() - DELIVERIES_KEPT).filter(agent=agent).newest_first()
    if cursor is not None:
        found = found.earlier_than(_place(agent, cursor))
    rows = list(found.select_related("event").defer("event__body")[: limit + 1])
    shown = rows[:limit]
    return DeliveryPage(shown, _next_url(agent, shown[-1], limit=limit) if len(rows) > limit else None)


def _place(agent: Agent, event_id: str) -> Event:
    """The event at which the page before ended.

    Events are kept longer than deliveries, so a reader may pause between pages.
    """
    found = Event.objects.of_agent(agent, event_id)
    if found is None:
        raise NoSuchEvent("cursor", event_id)
    return found


def _next_url(agent: Agent, last: Delivery, *, limit: int) -> str:
    query = urlencode({"limit": limit, "cursor": last.pk})
    return f"{settings.BASE_URL}/agents/{agent.pk}/webhook/deliveries?{query}"
