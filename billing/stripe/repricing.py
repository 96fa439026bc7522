"""Has Stripe charge the price of the plan that was chosen for the next period, or the old one again, until it does.

What Stripe charges decides which plan a charge pays for (billing/stripe/charging.py), so a renewal that comes before
Stripe was told is no error: the chosen plan comes with the charge after it.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db.models import F

from billing.models import CardSubscription, NextPlan
from billing.models.stripe import ERROR
from billing.providers import stripe_api
from billing.providers.stripe_api import StripeAway, StripeRefused
from billing.stripe import configuration, objects
from billing.stripe.attempts import FIRST_WAIT, LEASE, wait_after
from billing.stripe.checkouts import cents
from billing.stripe.errors import Unreadable
from billing.stripe.objects import Card

log = logging.getLogger(__name__)

BATCH = 50


def is_other(card: CardSubscription, told: Card) -> bool:
    """Whether Stripe charges one of this agent's two prices next, and not the one that it should.

    A price that somebody set at Stripe is left alone.
    """
    chosen = NextPlan.objects.filter(agent=card.agent_id).first()
    if chosen is None or told.item is None:
        return False
    ours = {cents(card.price_usd), cents(chosen.price_usd)}
    return told.item.cents in ours and told.item.cents != _wanted(card, chosen)


def reprice_due(*, now: datetime) -> int:
    """Tell Stripe what is due, the longest overdue first. Returns how many it has taken."""
    if not configuration.is_configured():
        return 0
    due = list(CardSubscription.objects.filter(reprice_at__lte=now).order_by("reprice_at")[:BATCH])
    return sum(_reprice(card, now=now) for card in due)


def _reprice(card: CardSubscription, *, now: datetime) -> bool:
    """Stripe is asked outside of any transaction. If the owner chooses again meanwhile, the row is due again."""
    lease = now + LEASE
    claimed = CardSubscription.objects.filter(pk=card.pk, reprice_at=card.reprice_at)
    if not claimed.update(reprice_at=lease, attempts=F("attempts") + 1):
        return False
    chosen = NextPlan.objects.filter(agent=card.agent_id).first()
    try:
        _tell(card, chosen, now=now)
    except StripeAway as away:
        _later(card, lease, away.message, now=now, at_least=timedelta(seconds=int(away.headers["Retry-After"])))
        return False
    except (StripeRefused, Unreadable) as problem:
        log.exception("Stripe does not change a price", extra={"card": card.subscription_id})
        _later(card, lease, str(problem), now=now)
        return False
    told = CardSubscription.objects.filter(pk=card.pk, reprice_at=lease)
    told.update(reprice_at=None, attempts=0, last_error="")  # unless somebody wants something else by now
    return True


def _tell(card: CardSubscription, chosen: NextPlan | None, *, now: datetime) -> None:
    """Raises StripeAway, StripeRefused, Unreadable."""
    if chosen is None or card.canceled_at is not None:
        return
    told = objects.card(stripe_api.subscription(card.subscription_id))
    wanted = _wanted(card, chosen)
    if told.item is None:
        raise Unreadable("it charges for more than one thing")
    if told.item.cents != wanted:
        key = f"price:{card.subscription_id}:{wanted}:{now.timestamp()}"
        stripe_api.reprice(card.subscription_id, told.item, cents=wanted, key=key)


def _wanted(card: CardSubscription, chosen: NextPlan) -> int:
    return cents(card.price_usd if chosen.dropped_at else chosen.price_usd)


def _later(
    card: CardSubscription, lease: datetime, problem: str, *, now: datetime, at_least: timedelta = FIRST_WAIT
) -> None:
    at = now + wait_after(card.attempts, at_least=at_least)
    CardSubscription.objects.filter(pk=card.pk, reprice_at=lease).update(reprice_at=at, last_error=problem[:ERROR])
