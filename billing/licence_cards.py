"""Stop the charges of a card at the licence's provider after the owner cancelled here.

The cancellation sets `Subscription.stop_card_at` in the same transaction, so no crash loses it. A worker tells the
provider, and repeats that until the provider confirms it. Where we cannot stop the card, the owner is told where to do
it (`where_to_stop`). Verification then asks the provider soon, and later daily, whether it was done
(billing/verification.py).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents import timeline
from agents.models import Agent, Reason
from billing.errors import NotConfigured
from billing.models import Subscription
from billing.providers import registry
from billing.vocabulary import Provider
from config import background
from config.errors import Unavailable

log = logging.getLogger(__name__)

ACTOR = "billing"
BATCH = 30  # cards in a run of the task
LEASE, AGAIN = timedelta(minutes=5), timedelta(minutes=15)
LOOK_AFTER = timedelta(minutes=15)  # at a provider where only the buyer can stop the card
LATE = timedelta(hours=1)  # after this time an operator sees that the card is still charged


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The provider's page where the owner stops a card that we cannot stop."""

    provider: str
    url: str


def ask_to_stop(row: Subscription, *, now: datetime) -> None:
    """Make the stop of the card due. Call this in the transaction of the cancellation, under the agent's lock."""
    if not row.is_licensed or row.cancels_there:
        return
    row.stop_card_at = now
    row.save(update_fields=["stop_card_at"])
    background.on_commit("billing.stop_card", row.pk)


def where_to_stop(row: Subscription) -> Elsewhere | None:
    """Where the owner must stop the card. None if no card is charged any more, or if we are stopping it."""
    if not row.is_licensed or not row.is_live or row.cancels_there or row.stop_card_at is not None:
        return None
    seller = registry.key_seller(row.provider)
    return Elsewhere(seller.name, seller.cancel_url) if seller else None


def can_stop(row: Subscription) -> bool:
    """Whether the settings and the provider let us stop the card."""
    seller = registry.key_seller(row.provider)
    return seller is not None and seller.stops_cards


def late(*, now: datetime) -> QuerySet[Subscription]:
    """Subscriptions whose card is still charged: the provider did not answer, or did not do it, for an hour."""
    return Subscription.objects.filter(stop_card_at__isnull=False, canceled_at__lte=now - LATE)


def stop_due() -> int:
    """Stop the cards that are due, at most 30. Returns for how many the provider was asked."""
    told = 0
    while told < BATCH and (row := _lease(Subscription.objects.all(), now=timezone.now())):
        told += 1
        _stop(row, now=timezone.now())
    return told


def stop(subscription_id: str, *, now: datetime) -> None:
    if row := _lease(Subscription.objects.filter(pk=subscription_id), now=now):
        _stop(row, now=now)


@transaction.atomic
def _lease(rows: QuerySet[Subscription], *, now: datetime) -> Subscription | None:
    due = rows.filter(stop_card_at__lte=now).order_by("stop_card_at")
    row = due.select_for_update(skip_locked=True, of=("self",)).first()
    if row is not None:
        row.stop_card_at = now + LEASE
        row.save(update_fields=["stop_card_at"])
    return row


def _stop(row: Subscription, *, now: datetime) -> None:
    try:
        stopped = registry.licence_driver(Provider(row.provider or "")).stop_card(row.external_ref)
    except (NotConfigured, Unavailable) as error:
        log.warning("a card is still charged", extra={"subscription": row.pk, "problem": error.message})
        Subscription.objects.filter(pk=row.pk).exclude(stop_card_at=None).update(stop_card_at=now + AGAIN)
        return
    _note(row.pk, stopped=stopped, now=now)


@transaction.atomic
def _note(subscription_id: str, *, stopped: bool, now: datetime) -> None:
    agent_id = Subscription.objects.values_list("agent_id", flat=True).get(pk=subscription_id)
    agent = Agent.objects.lock(agent_id)
    row = Subscription.objects.select_for_update(of=("self",)).get(pk=subscription_id)
    row.stop_card_at, row.cancels_there = None, row.cancels_there or stopped
    if not stopped and row.check_at is not None:
        row.check_at = min(row.check_at, now + LOOK_AFTER)
    row.save(update_fields=["stop_card_at", "cancels_there", "check_at"])
    words = "its card is charged no more" if stopped else "only its buyer can have its card stopped"
    timeline.note(agent, f"subscription {row.pk}: {words}", reason=Reason.PAYMENT, actor=ACTOR, now=now)
