"""The delivery log of an agent: one entry for each event, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.conf import settings
from django.utils import timezone

from webhooks import event_log
from webhooks.models import Delivery, State
from webhooks.purging import DELIVERIES_KEPT

if TYPE_CHECKING:
    from agents.models import Agent

MAX_PAGE = 1_000
LOOKED_AT = 1_000  # deliveries among which those that failed are looked for


@dataclass(frozen=True, slots=True)
class DeliveryPage:
    deliveries: list[Delivery]
    next_url: str | None


def page(agent: Agent, *, limit: int = MAX_PAGE, cursor: str | None = None) -> DeliveryPage:
    """A page of the deliveries that are pending or ended within seven days.

    Raises NoSuchEvent, which names `cursor`. Events are kept longer than deliveries, so readers may pause in between.
    """
    found = Delivery.objects.kept(since=timezone.now() - DELIVERIES_KEPT).filter(agent=agent).newest_first()
    if cursor is not None:
        found = found.earlier_than(event_log.place(agent, cursor, field="cursor"))
    rows = list(found.select_related("event").defer("event__body")[: limit + 1])
    shown = rows[:limit]
    query = urlencode({"limit": limit, "cursor": shown[-1].pk}) if len(rows) > limit else ""
    return DeliveryPage(shown, f"{settings.BASE_URL}/agents/{agent.pk}/webhook/deliveries?{query}" if query else None)


def failed(agent: Agent, *, most: int) -> list[Delivery]:
    """The deliveries that failed, among the agent's newest ones."""
    newest = Delivery.objects.filter(agent=agent).newest_first().values("pk")[:LOOKED_AT]
    return list(Delivery.objects.filter(pk__in=newest, state=State.FAILED).newest_first()[:most])
