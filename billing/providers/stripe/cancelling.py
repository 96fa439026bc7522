"""Cancel subscriptions at Stripe that were canceled here or whose agent is deleted.

Repeated until Stripe has done it.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db.models import F

from billing.models import CardSubscription
from billing.models.stripe import ERROR
from billing.providers.stripe import api, configuration
from billing.providers.stripe.api import StripeAway, StripeRefused
from billing.providers.stripe.retries import FIRST_WAIT, LEASE, wait_after

log = logging.getLogger(__name__)

BATCH = 50
CANCELED = "canceled"


def cancel_due(*, now: datetime) -> int:
    """Cancel what is due; the rows show it, so no caller needs to report a deleted agent.

    Returns how many were canceled.
    """
    if not configuration.is_configured():
        return 0
    due = list(CardSubscription.objects.to_end(now).order_by("cancel_at", "id")[:BATCH])
    return sum(_cancel(card, now=now) for card in due)


def _cancel(card: CardSubscription, *, now: datetime) -> bool:
    """Cancel one subscription at Stripe, outside of any transaction. A second call is harmless."""
    claimed = CardSubscription.objects.filter(pk=card.pk, cancel_at=card.cancel_at)
    if not claimed.update(cancel_at=now + LEASE, attempts=F("attempts") + 1):
        return False
    try:
        api.cancel(card.subscription_id)
    except StripeAway as away:
        _later(card, away.message, now=now, at_least=timedelta(seconds=int(away.headers["Retry-After"])))
        return False
    except StripeRefused as refusal:
        log.exception("Stripe does not cancel a subscription", extra={"card": card.subscription_id})
        _later(card, str(refusal), now=now)
        return False
    done = {"status": CANCELED, "cancel_at": None, "check_at": None, "last_error": ""}
    CardSubscription.objects.filter(pk=card.pk).update(**done)
    CardSubscription.objects.filter(pk=card.pk, canceled_at=None).update(canceled_at=now)
    return True


def _later(card: CardSubscription, problem: str, *, now: datetime, at_least: timedelta = FIRST_WAIT) -> None:
    at = now + wait_after(card.attempts, at_least=at_least)
    CardSubscription.objects.filter(pk=card.pk).update(cancel_at=at, last_error=problem[:ERROR])
