"""An owner cancels a subscription: it does not renew."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.models import User
from agents.models import Agent
from billing import dunning, licence_cards, subscriptions, unused_time
from billing.models import CardSubscription, Subscription
from billing.ownership import own_subscription
from billing.providers import registry
from billing.vocabulary import SubscriptionStatus


@transaction.atomic
def cancel(user: User, subscription_id: str, *, actor: str, now: datetime) -> Subscription:
    """Cancel the owner's subscription, and tell the provider to charge its card no more.

    A subscription that has expired can still be cancelled while its card is tried again.
    Raises NoSuchSubscription (also for a subscription of another account), AlreadyExpired, NeverEnds.
    """
    known = own_subscription(user, subscription_id)
    agent = Agent.objects.lock(known.agent_id)
    row = Subscription.objects.select_for_update(of=("self",)).get(pk=known.pk)
    if (
        row.status != SubscriptionStatus.EXPIRED
        or not CardSubscription.objects.charged(agent).exists()
        or unused_time.paid_by(agent)
    ):
        row = subscriptions.cancel(agent, row, actor=actor, now=now)
    licence_cards.ask_to_stop(row, now=now)
    for driver in registry.drivers():
        driver.stop_charging(agent, now=now)
    dunning.settle(agent, now=now)
    return row
