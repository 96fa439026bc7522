"""Checks of what must always be true of cards: paid at Stripe is counted here, ended here is not charged at Stripe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from billing.models import CardSubscription, Payment, StripeEvent, StripeInvoice, StripeOrder, StripeRefund
from billing.vocabulary import CONFIRMED, OrderStatus, Provider

# Longer than the longest wait between two attempts: nobody tries any more.
OVERDUE = timedelta(hours=2)
# If Stripe does not answer for so long, operators should know.
UNREAD = timedelta(days=3)


def _not_looked_at(now: datetime) -> Iterator[str]:
    for row in StripeEvent.objects.filter(due_at__lt=now - OVERDUE).iterator():
        yield f"the event {row.pk} ({row.type}) was due {row.due_at:%Y-%m-%d %H:%M} but is not processed"


def _still_charged(now: datetime) -> Iterator[str]:
    for card in CardSubscription.objects.to_end(now - OVERDUE).filter(canceled_at__lt=now - OVERDUE).iterator():
        since = f"{card.canceled_at:%Y-%m-%d %H:%M}"
        yield f"{card.subscription_id} ended here {since}, but Stripe may still charge the card"


def _not_read(now: datetime) -> Iterator[str]:
    for card in CardSubscription.objects.renewing().filter(read_at__lt=now - UNREAD).iterator():
        yield f"Stripe has reported nothing about {card.subscription_id} since {card.read_at:%Y-%m-%d %H:%M}"


def _two_cards(now: datetime) -> Iterator[str]:
    newer = CardSubscription.objects.renewing().filter(agent=OuterRef("agent"), pk__gt=OuterRef("pk"))
    for card in CardSubscription.objects.renewing().filter(Exists(newer)).iterator():
        yield f"{card.agent_id} is charged twice: by {card.subscription_id} and by a newer subscription"


def _paid_without_an_invoice(now: datetime) -> Iterator[str]:
    known = StripeInvoice.objects.filter(payment=OuterRef("pk"))
    rows = Payment.objects.filter(~Exists(known), provider=Provider.STRIPE, kind__in=CONFIRMED)
    for row in rows.iterator():
        yield f"{row.pk} was paid by card, but no invoice of Stripe shows it"
    counted = StripeInvoice.objects.filter(card__order=OuterRef("pk"), payment__isnull=False)
    for order in StripeOrder.objects.filter(~Exists(counted), status=OrderStatus.PAID).iterator():
        yield f"{order.pk} is paid, but no invoice of Stripe paid it"


def _not_sent_back(now: datetime) -> Iterator[str]:
    for row in StripeRefund.objects.filter(refund_at__lt=now - OVERDUE).iterator():
        yield f"{row.payment_id} must go back to its card, but Stripe is not asked for it"


def _not_repriced(now: datetime) -> Iterator[str]:
    for card in CardSubscription.objects.filter(reprice_at__lt=now - OVERDUE).iterator():
        yield f"{card.subscription_id} must be charged another price, but Stripe is not asked for it"


CHECKS: list[Callable[[datetime], Iterator[str]]] = [
    _not_looked_at,
    _still_charged,
    _not_read,
    _two_cards,
    _paid_without_an_invoice,
    _not_sent_back,
    _not_repriced,
]
