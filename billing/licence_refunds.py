"""What went back of a licence's charges, as far as its provider tells, in the ledger.

A charge that went back whole and pays for the running time ends the licence (billing/revocations.py); all else is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta

from dateutil.relativedelta import relativedelta

from billing import part_refunds
from billing.models import Payment, Subscription
from billing.periods import MONTHS
from billing.providers.base import Charge
from billing.vocabulary import CONFIRMED, Period

SOME_DAYS = timedelta(days=5)  # between the end of what a charge paid for and the end that its licence told


def note(row: Subscription, charges: Sequence[Charge], *, actor: str, now: datetime) -> None:
    """Each amount once. What was charged before the licence came to us is no payment of ours."""
    last = charges[-1] if charges else None
    back = [charge for charge in charges if charge.back and not (charge is last and charge.went_back)]
    if not back:
        return
    charged = [payment for payment in _charged(row) if payment.period]
    for charge in back:
        payment = _paid_by(charge, charged)
        if payment is not None:
            part_refunds.note(payment, returned=charge.back, actor=actor, now=now)


def _charged(row: Subscription) -> Iterable[Payment]:
    same = Payment.objects.filter(subscription__provider=row.provider, subscription__external_ref=row.external_ref)
    return same.filter(kind__in=CONFIRMED, provider=row.provider, amount__isnull=False).order_by("at", "id")


def _paid_by(charge: Charge, charged: Sequence[Payment]) -> Payment | None:
    for payment in charged:
        till = _told_till(payment)
        latest = (charge.at + relativedelta(months=MONTHS[Period(payment.period)]) + SOME_DAYS).date()
        if charge.at.date() + SOME_DAYS < till <= latest:
            return payment
    return None


def _told_till(payment: Payment) -> date:
    """The licence's end is in the ledger's name of the payment (billing/licences.py)."""
    return date.fromisoformat(payment.external_id.split(":")[1])
