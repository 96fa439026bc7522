"""Tell Stripe the price of the next period: that of the chosen plan, or the old price. Repeated until Stripe has it.

The charged price decides which plan a charge pays for (charging.py). So a renewal before Stripe was told is no error:
the chosen plan comes with the next charge.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import F

from billing import next_plans
from billing.models import CardSubscription, NextPlan
from billing.models.stripe import ERROR
from billing.providers.stripe import api, configuration, objects
from billing.providers.stripe.api import StripeAway, StripeRefused
from billing.providers.stripe.checkouts import cents
from billing.providers.stripe.errors import StripeUnreadable
from billing.providers.stripe.objects import SubscriptionObject
from billing.providers.stripe.retries import FIRST_WAIT, LEASE, wait_after
from billing.vocabulary import Period

log = logging.getLogger(__name__)

BATCH = 50


def is_other(card: CardSubscription, told: SubscriptionObject) -> bool:
    """Whether Stripe will charge one of this agent's prices, but not the right one.

    A price that somebody set at Stripe stays as it is.
    """
    if told.item is None or told.item.cents not in _ours(card):
        return False
    return told.item.cents != _wanted(card)


def reprice_due(*, now: datetime) -> int:
    """Tell Stripe the prices that are due, the longest overdue first. Returns how many Stripe has accepted."""
    if not configuration.is_configured():
        return 0
    due = list(CardSubscription.objects.filter(reprice_at__lte=now).order_by("reprice_at")[:BATCH])
    return sum(_reprice(card, now=now) for card in due)


def _reprice(card: CardSubscription, *, now: datetime) -> bool:
    """Tell Stripe one price, outside of any transaction. If the owner chooses again meanwhile, the row is due again."""
    lease = now + LEASE
    claimed = CardSubscription.objects.filter(pk=card.pk, reprice_at=card.reprice_at)
    if not claimed.update(reprice_at=lease, attempts=F("attempts") + 1):
        return False
    try:
        _tell(card, now=now)
    except StripeAway as away:
        _later(card, lease, away.message, now=now, at_least=timedelta(seconds=int(away.headers["Retry-After"])))
        return False
    except (StripeRefused, StripeUnreadable) as problem:
        log.exception("Stripe does not change a price", extra={"card": card.subscription_id})
        _later(card, lease, str(problem), now=now)
        return False
    told = CardSubscription.objects.filter(pk=card.pk, reprice_at=lease)
    told.update(reprice_at=None, attempts=0, last_error="")  # unless the owner has chosen something else by now
    return True


def _tell(card: CardSubscription, *, now: datetime) -> None:
    """Read Stripe's price, and change it if needed. Raises StripeAway, StripeRefused, Unreadable."""
    if card.canceled_at is not None:
        return
    wanted = _wanted(card)
    told = objects.card(api.subscription(card.subscription_id))
    if told.item is None:
        raise StripeUnreadable("it charges for more than one thing")
    if told.item.cents != wanted:
        key = f"price:{card.subscription_id}:{wanted}:{now.timestamp()}"
        api.reprice(card.subscription_id, told.item, cents=wanted, key=key)


def _ours(card: CardSubscription) -> set[int]:
    return {_wanted(card), cents(card.price_usd), *(cents(Decimal(one["priceUsd"])) for one in card.told_plans or [])}


def _wanted(card: CardSubscription) -> int:
    chosen = NextPlan.objects.filter(agent=card.agent_id, dropped_at=None).first()
    return cents(next_plans.price_of(chosen, Period(card.order.period)) if chosen else card.price_usd)


def _later(
    card: CardSubscription, lease: datetime, problem: str, *, now: datetime, at_least: timedelta = FIRST_WAIT
) -> None:
    at = now + wait_after(card.attempts, at_least=at_least)
    CardSubscription.objects.filter(pk=card.pk, reprice_at=lease).update(reprice_at=at, last_error=problem[:ERROR])
