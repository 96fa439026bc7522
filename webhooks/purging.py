"""How long events and deliveries are kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models

from webhooks import hooks
from webhooks.models import Delivery, Event, State

EVENTS_KEPT = timedelta(days=30)
DELIVERIES_KEPT = timedelta(days=7)  # after they ended
BATCH = 2000


def purge(*, now: datetime) -> int:
    """Delete what is past its time, in batches that hold no lock for long. Returns how many rows went."""
    hooks.forget_old_secrets(now=now)
    hooks.forget_hooks_of_deleted_agents()
    ended = Delivery.objects.filter(finished_at__lt=now - DELIVERIES_KEPT)
    old = Event.objects.filter(created_at__lt=now - EVENTS_KEPT).exclude(delivery__state=State.PENDING)
    return _delete_all(ended) + _delete_all(old)


def _delete_all(rows: models.QuerySet[Delivery] | models.QuerySet[Event]) -> int:
    """The condition is asked again with each batch, so a delivery that is being sent again is not taken along."""
    gone = 0
    while keys := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        gone += rows.filter(pk__in=keys).delete()[0]
    return gone
