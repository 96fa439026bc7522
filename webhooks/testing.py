"""The `test` event: sent with all retries, and waited for."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from config.errors import Conflict
from webhooks import events, reports
from webhooks.event_types import EventType
from webhooks.models import Delivery, Hook
from webhooks.reports import AwaitedDelivery, DeliveryReport

if TYPE_CHECKING:
    from agents.models import Agent

NOTE = "A test event, sent on request. Nothing has happened to the agent."


def begin(agent: Agent) -> AwaitedDelivery | DeliveryReport:
    """Send a `test` event whose outcome can be waited for. If a test is already running, that one is meant.

    A dry run gets a report at once. Raises Conflict if there is no hook, and Unavailable when too many calls wait.
    """
    return reports.awaited(lambda: start(agent, now=timezone.now()), account=agent.user_id)


@transaction.atomic
def start(agent: Agent, *, now: datetime) -> str:
    """Return the id of the agent's running test event; create one if there is none.

    Raises Conflict if there is no hook.
    """
    agent = events.in_turn(agent)
    if not Hook.objects.filter(agent=agent).exists():
        raise Conflict("the agent has no webhook to test: PUT /agents/{id}/webhook sets one")
    running = Delivery.objects.pending().filter(agent=agent, is_test=True).first()
    return running.pk if running else events.emit(agent, EventType.TEST, {"note": NOTE}, now=now).pk
