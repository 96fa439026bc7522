"""Checks of what must always be true of stars: each charge has paid, was sent back, is going back, or waits for an
operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.functions import Concat, Left

from billing.models import Payment, StarsOrder, Stray, StrayCharge
from billing.models.payments import NAMED, REFUND
from billing.vocabulary import OrderStatus, Provider

# Longer than the longest wait between two attempts: nobody tries any more.
OVERDUE = timedelta(hours=2)

STARS = Payment.objects.filter(provider=Provider.STARS)
COUNTED = Exists(STARS.filter(external_id=OuterRef("charge_id")))
RETURNED = Exists(STARS.filter(external_id=Concat(Left(OuterRef("charge_id"), NAMED - len(REFUND)), Value(REFUND))))


def _forgotten(now: datetime) -> Iterator[str]:
    """Charges that bought nothing and are not being sent back.

    Charges that belong to none of our orders may stay: an operator decides.
    """
    open_ = StrayCharge.objects.filter(refunded_at=None).exclude(why=Stray.UNKNOWN, refund_at=None)
    for row in open_.filter(Q(refund_at=None) | Q(refund_at__lt=now - OVERDUE)).iterator():
        yield f"the charge {row.pk} bought nothing ({row.get_why_display()}), but no refund is under way"


def _returned_and_counted(now: datetime) -> Iterator[str]:
    for row in StrayCharge.objects.filter(COUNTED & ~RETURNED, refunded_at__isnull=False).iterator():
        yield f"the charge {row.pk} was sent back, but the ledger does not show it"


def _in_the_ledger_alone(now: datetime) -> Iterator[str]:
    known = StrayCharge.objects.filter(pk=OuterRef("external_id"))
    for row in Payment.objects.open().filter(~Exists(known), provider=Provider.STARS).iterator():
        yield f"the charge {row.external_id} bought nothing, but no refund was requested"


def _paid_without_a_charge(now: datetime) -> Iterator[str]:
    paid = StarsOrder.objects.filter(status=OrderStatus.PAID)
    for order in paid.filter(Q(charge_id=None) | ~COUNTED).iterator():
        yield f"{order.pk} is paid, but the ledger has no charge for it"


CHECKS: list[Callable[[datetime], Iterator[str]]] = [
    _forgotten,
    _returned_and_counted,
    _in_the_ledger_alone,
    _paid_without_a_charge,
]
