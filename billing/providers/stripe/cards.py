"""Subscriptions at Stripe: the meaning of their status here, and the end of those that must not be charged any more."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from agents.models import Agent, Desired
from billing import dunning, subscriptions
from billing.models import CardSubscription, StripeOrder, Subscription
from billing.models.stripe import ENDED, RENEWING
from billing.providers.stripe import repricing
from billing.providers.stripe.errors import UnmatchedObject
from billing.providers.stripe.objects import SubscriptionObject
from billing.vocabulary import Provider, SubscriptionStatus
from config import background
from config.ids import is_id

ACTOR = "stripe"
DAILY = timedelta(days=1)
# After the end of a period, Stripe's invoice stays a draft for one hour.
CHARGED_BY = timedelta(hours=2)


@transaction.atomic
def note(told: SubscriptionObject, *, now: datetime) -> CardSubscription | None:
    """Store what Stripe says about a subscription. Returns None if it is not ours. Calling this twice is harmless.

    Raises Stray if the subscription names an order that we do not know, or an order of another customer.
    """
    order = _order_of(told)
    if order is None:
        return None
    if told.customer != order.customer_id:
        raise UnmatchedObject(f"{told.id} is of {told.customer}, and {order.pk} of {order.customer_id}")
    agent = Agent.objects.lock(order.agent_id)
    known = CardSubscription.objects.select_for_update().filter(subscription_id=told.id).first()
    card, fresh = known or _new(told, order, now=now), known is None
    renewed = not fresh and is_renewing(card)
    card.status, card.cancels, card.period_end = told.status, told.cancels, told.period_end
    card.read_at, card.check_at = now, _check_at(told, now=now)
    if repricing.is_other(card, told):
        card.reprice_at = card.reprice_at or now
    card.save()
    if renewed != is_renewing(card) and agent.desired != Desired.DELETED:
        _follow(agent, card, now=now)
    return card


def _new(told: SubscriptionObject, order: StripeOrder, *, now: datetime) -> CardSubscription:
    return CardSubscription(
        subscription_id=told.id,
        agent_id=order.agent_id,
        order=order,
        customer_id=told.customer,
        tier=order.tier,
        price_usd=order.price_usd,
        tier_snapshot=order.tier_snapshot,
        created_at=now,
    )


def _order_of(told: SubscriptionObject) -> StripeOrder | None:
    """The order of a subscription. A known subscription keeps its order, even if its metadata at Stripe change."""
    known = CardSubscription.objects.filter(subscription_id=told.id).select_related("order").first()
    if known is not None:
        return known.order
    if not is_id("cso", told.order):
        return None
    order = StripeOrder.objects.filter(pk=told.order).first()
    if order is None:
        raise UnmatchedObject(f"{told.id} is for {told.order}, which is not known here")
    return order


def is_renewing(card: CardSubscription) -> bool:
    return card.status in RENEWING and not card.cancels and card.canceled_at is None


def _check_at(told: SubscriptionObject, *, now: datetime) -> datetime | None:
    if told.status in ENDED:
        return None
    charged = told.period_end + CHARGED_BY if told.period_end else now
    return min(now + DAILY, charged) if charged > now else now + DAILY


def _follow(agent: Agent, card: CardSubscription, *, now: datetime) -> None:
    """The owner cancelled at Stripe or took that back: follow here. Paid time stays. The term is checked again."""
    row = Subscription.objects.paid().select_for_update(of=("self",)).filter(agent=agent).first()
    if row is not None and row.provider == Provider.STRIPE:
        ends = card.cancels or card.status in ENDED
        if ends and not CardSubscription.objects.renewing().filter(agent=agent).exists():
            subscriptions.cancel(agent, row, actor=ACTOR, now=now)
        elif is_renewing(card) and row.status == SubscriptionStatus.CANCELED:
            subscriptions.reinstate(agent, row, actor=ACTOR, now=now)
    dunning.settle(agent, now=now)


def cancel(agent: Agent, *, now: datetime, but: CardSubscription | None = None) -> None:
    """Stop the charges of all cards for this agent, except the card `but`. The caller holds the agent's lock.

    Stripe is told after the commit, again and again until it has done it.
    """
    live = CardSubscription.objects.charged(agent)
    if but is not None:
        live = live.exclude(pk=but.pk)
    if live.update(canceled_at=now):
        background.on_commit("billing.cancel_cards")
