"""The paid time of a deleted agent stays with its account for 90 days. In that time it can be moved to another agent.

A licence ends with its agent: its key stays valid at the provider and can be used for another agent
(billing/licence_activations.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from agents.models import Agent
from billing import spans, subscriptions, unused_time
from billing.models import Subscription
from billing.spans import UnusedTime
from billing.vocabulary import Provider

KEPT = timedelta(days=90)
ACTOR = "billing"
DELETED = "its agent is deleted"


def park(agent: Agent, *, now: datetime) -> datetime | None:
    """End a deleted agent's grant and licence, and keep its unused paid time. Calling this twice is harmless.

    Returns when to look again, or None if nothing is left. The caller holds the agent's lock.
    """
    for granted in Subscription.objects.live().filter(agent=agent, provider=Provider.INTERNAL):
        subscriptions.expire(agent, granted, at=now, actor=ACTOR, now=now, note=DELETED)
    row = Subscription.objects.paid().filter(agent=agent).first()
    if row is not None and row.is_licensed:
        unused_time.end_licence(agent, row, at=now, actor=ACTOR, now=now, note=DELETED)
        Subscription.objects.filter(pk=row.pk).update(check_at=now)  # verification then releases its activation
        row = Subscription.objects.paid().filter(agent=agent).first()
    if row is None:
        return None
    if row.parked_at is None:
        row = unused_time.park(agent, row, actor=ACTOR, now=now, note=DELETED)
    if row.parked_at is None or now >= row.parked_at + KEPT:
        if row.is_live:
            subscriptions.expire(agent, row, at=now, actor=ACTOR, now=now, note=f"nobody moved it in {KEPT.days} days")
        return None
    return row.parked_at + KEPT


def unused(agents: Sequence[Agent], *, now: datetime) -> list[str]:
    """One sentence for each of these agents that has unused paid time."""
    rows = Subscription.objects.paid().filter(agent__in=[agent.pk for agent in agents]).defer("license_key")
    told = ((row, [rest for rest in spans.left(row, now=now) if not rest.is_gift]) for row in rows)
    return [_told(row, rests) for row, rests in told if rests]


def _told(row: Subscription, rests: Sequence[UnusedTime]) -> str:
    usd = float(sum((rest.usd for rest in rests), rests[0].usd * 0))
    days = spans.total(rests).days
    return (
        f"{row.agent_id} has {days} days that are paid and not used, {usd:.2f} USD: its owner can move them to another"
        f" agent for {KEPT.days} days"
    )
