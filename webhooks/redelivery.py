"""Sends an ended delivery again at its owner's request, and lets its caller wait for the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from config.ids import is_id
from webhooks import deliveries, purging, reports
from webhooks.errors import NoSuchDelivery
from webhooks.models import Delivery
from webhooks.reports import AwaitedDelivery, DeliveryReport

if TYPE_CHECKING:
    from agents.models import Agent


def begin(agent: Agent, event_id: str, *, actor: str) -> AwaitedDelivery | DeliveryReport:
    """Send the event again with the same id and bytes and all retries. Its outcome can be waited for.

    If the event is already being sent again, that is meant. A dry run gets a report at once. Raises NoSuchDelivery.
    Raises Conflict if there is no hook, or while the event is being delivered for the first time. Raises Unavailable
    when too many calls wait.
    """
    delivery = find(agent, event_id)
    return reports.awaited(
        lambda: deliveries.resend_or_join(delivery, actor=actor, now=timezone.now()).pk, account=agent.user_id
    )


def find(agent: Agent, event_id: str) -> Delivery:
    """The agent's delivery of this event, if the log still has it. Raises NoSuchDelivery."""
    kept = Delivery.objects.kept(since=timezone.now() - purging.DELIVERIES_KEPT)
    found = kept.filter(agent=agent, pk=event_id).first() if is_id("evt", event_id) else None
    if found is None:
        raise NoSuchDelivery
    return found
