"""An account moves the paid time of a deleted agent to another of its agents."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.models import User
from agents.configuring import profile
from agents.errors import NoSuchAgent
from agents.models import Agent, Desired
from billing import dunning, parking, payments, spans, subscriptions, unused_time
from billing.errors import NotParked
from billing.models import Subscription
from billing.ownership import own_subscription
from billing.payments import Receipt
from billing.subscriptions import Purchase
from billing.vocabulary import PaymentKind, Provider
from catalog.engines import check_tier, engine_of
from catalog.tiers import tier_of
from config.ids import new_id


def move(user: User, subscription_id: str, *, to: Agent, actor: str, now: datetime) -> Subscription:
    """Move the unused paid time of a deleted agent to another agent of the account.

    If the other agent is paid for, the time is converted to that plan at its list price; otherwise it keeps its own
    plan.
    Raises NoSuchSubscription, NoSuchAgent, NotParked, EngineBelowMinTier.
    """
    known = own_subscription(user, subscription_id)
    return _move(known, to, actor=actor, now=now)


@transaction.atomic
def _move(known: Subscription, taker: Agent, *, actor: str, now: datetime) -> Subscription:
    # always locked in the same order, so that two opposite moves cannot deadlock
    for agent_id in sorted([known.agent_id, taker.pk]):
        Agent.objects.lock(agent_id)
    giver, taker = Agent.objects.get(pk=known.agent_id), Agent.objects.get(pk=taker.pk)
    if taker.desired == Desired.DELETED:
        raise NoSuchAgent
    row = Subscription.objects.select_for_update(of=("self",)).get(pk=known.pk)
    if row.parked_at is None or not row.is_live or now >= row.parked_at + parking.KEPT:
        raise NotParked(row.pk)
    taker = subscriptions.expire_ended(taker, now=now)
    held = unused_time.paid_by(taker)
    check_tier(engine_of(taker.engine), tier_of(held.tier if held else row.tier))
    rests, plan = spans.take(row, now=now), spans.plan_of(row)
    subscriptions.expire(giver, row, at=now, actor=actor, now=now, note=f"moved to {taker.pk}")
    taken = unused_time.add(taker, rests, plan, row=row, actor=actor, now=now)
    payments.write(_receipt(taken, taker, giver, actor=actor), taker, now=now, subscription=taken)
    taker = profile.follow_payment(taker, taken.tier)
    dunning.paid_again(taker, now=now)
    return taken


def _receipt(row: Subscription, taker: Agent, giver: Agent, *, actor: str) -> Receipt:
    """The receipt of the move, without an amount: no money moved."""
    return Receipt(
        provider=Provider.INTERNAL,
        external_id=new_id("act"),
        kind=PaymentKind.MOVE,
        agent_id=taker.pk,
        purchase=Purchase.as_in(row, provider=None),
        actor=actor,
        reason=f"what was left of {giver.pk}, which is deleted",
    )
