"""Remind the owner 7 days and 1 day before paid time ends, if nothing renews it."""

from __future__ import annotations

from datetime import datetime, timedelta

from agents.models import Agent
from billing import mails, subscriptions
from billing.models import CardSubscription, Subscription
from billing.vocabulary import SubscriptionStatus

BEFORE = (timedelta(days=7), timedelta(days=1))


def renews_itself(row: Subscription) -> bool:
    """Whether the provider charges for the next period by itself."""
    if row.is_licensed:
        return row.status == SubscriptionStatus.ACTIVE and not row.cancels_there
    return CardSubscription.objects.renewing().filter(agent=row.agent_id).exists()


def renewed_by(row: Subscription) -> str | None:
    """The provider that charges for the next period: that of the licence or of the card. None if there is none."""
    if row.is_licensed:
        return row.provider
    cards = CardSubscription.objects.renewing().filter(agent=row.agent_id)
    return cards.values_list("order__provider", flat=True).first()


def remind(agent: Agent, *, now: datetime) -> datetime | None:
    """Send a reminder if one is due. Returns when to look again. The caller holds the agent's lock.

    If both are due, only one is sent. If the time was bought or moved after the moment of a reminder, that reminder is
    not sent: the owner knows the new end.
    """
    row = Subscription.objects.paid().filter(agent=agent).first()
    if row is None or renews_itself(row):
        return None
    end = subscriptions.end_of(row, now=now)
    moments = sorted(end - before for before in BEFORE)
    reached = [moment for moment in moments if moment <= now]
    if reached and end > now and max(row.counted_at, row.reminded_at or row.counted_at) < reached[-1]:
        row.reminded_at = now
        row.save(update_fields=["reminded_at"])
        mails.paid_time_ends(agent, at=end)
    return next((moment for moment in moments if moment > now), None)
