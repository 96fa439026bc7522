"""How long events and deliveries are kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models

from webhooks import hooks
from webhooks.models import Delivery, Event, State

EVENTS_KEPT = timedelta(days=30)
DELIVERIES_KEPT = timedelta(days=7)  # after their end
BATCH = 2000


def purge(*, now: datetime) -> int:
    """Delete what is too old, in batches that hold no lock for long. Return the number of deleted rows."""
    hooks.forget_old_secrets(now=now)
    hooks.forget_hooks_of_deleted_agents()
    ended = Delivery.objects.filter(finished_at__lt=now - DELIVERIES_KEPT)
    old = Event.objects.filter(created_at__lt=now - EVENTS_KEPT).exclude(delivery__state=State.PENDING)
    return _delete_all(ended) + _delete_all(old)


def _delete_all(rows: models.QuerySet[Delivery] | models.QuerySet[Event]) -> int:
    """Delete the rows in batches.

    Each batch checks the condition again, so a delivery that is sent again is not deleted.
    """
    gone = 0
    while keys := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        gone += rows.filter(pk__in=keys).delete()[0]
    return gone
