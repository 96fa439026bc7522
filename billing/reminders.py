"""What an owner is told before paid time ends that nothing renews: 7 days before, and 1 day."""

from __future__ import annotations

from datetime import datetime, timedelta

from agents.models import Agent
from billing import mails, subscriptions
from billing.models import CardSubscription, Subscription
from billing.vocabulary import SubscriptionStatus

BEFORE = (timedelta(days=7), timedelta(days=1))


def renews_itself(row: Subscription) -> bool:
    """Whether its provider charges for the next period without anybody's doing."""
    if row.is_licensed:
        return row.status == SubscriptionStatus.ACTIVE and not row.cancels_there
    return CardSubscription.objects.renewing().filter(agent=row.agent_id).exists()


def remind(agent: Agent, *, now: datetime) -> datetime | None:
    """Tell the owner if it is time; returns when to look again. The caller holds the agent's lock.

    Of two mails that are due only one is sent. What was bought or moved within those days is news enough by itself.
    """
    row = Subscription.objects.paid().filter(agent=agent).first()
    if row is None or renews_itself(row):
        return None
    end = subscriptions.end_of(row, now=now)
    moments = sorted(end - before for before in BEFORE)
    reached = [moment for moment in moments if moment <= now]
    if reached and end > now and _is_untold(row, reached[-1]):
        row.reminded_at = now
        row.save(update_fields=["reminded_at"])
        mails.paid_time_ends(agent, at=end)
    return next((moment for moment in moments if moment > now), None)


def _is_untold(row: Subscription, moment: datetime) -> bool:
    return max(row.counted_at, row.reminded_at or row.counted_at) < moment
