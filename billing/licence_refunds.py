"""A licence's charges as its provider lists them: those that nobody saw in time, and what went back of them.

The newest charge comes into the ledger with the time that it pays for (billing/licences.py). One that went back whole
and pays for the running time ends the licence (billing/revocations.py). All else is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from dateutil.relativedelta import relativedelta
from django.db import transaction

from billing import part_refunds, payments
from billing.licence_charges import SAME_CHARGE, told_till
from billing.models import Payment, Subscription
from billing.payments import Receipt
from billing.periods import MONTHS
from billing.providers.base import Charge, Verdict
from billing.subscriptions import Purchase
from billing.vocabulary import CONFIRMED, PaymentKind, Period, Provider

SOME_DAYS = timedelta(days=5)  # between the end of what a charge paid for and the end that its licence told
LATE = timedelta(days=23)  # a card may be refused for so long before it is charged; the next charge is 28 days away


def note(row: Subscription, verdict: Verdict, *, actor: str, now: datetime, unapplied: str = "") -> None:
    """Each charge and each amount that went back once; `unapplied` says why none of them buys anything here.

    Charges from before the licence was ours are left out.
    """
    charges = verdict.charges
    if not charges:
        return
    _note_missed(row, charges, actor=actor, now=now, unapplied=unapplied)
    told = list(zip(charges, _payments(charges, _charged(row)), strict=True))
    for charge, payment in told[:-1] if verdict.went_back and row.is_live else told:
        if payment is None or not (charge.back or charge.all_back or part_refunds.was_told(payment)):
            continue
        if payment.amount is not None:
            part_refunds.note(payment, returned=charge.back, actor=actor, now=now)
        elif charge.went_back:
            part_refunds.note_all(payment, actor=actor, now=now)


def _note_missed(row: Subscription, charges: Sequence[Charge], *, actor: str, now: datetime, unapplied: str) -> None:
    """Workers were away for more than a period, or one was charged twice. The end of a licence that pays contains the
    time of these charges.

    A charge whose amount nobody told at its time has its row in the ledger already; one of nothing needs none.
    """
    if not _are_missed(charges, _charged(row)):
        return
    with transaction.atomic():
        agent = payments.locked(row.agent_id)
        for charge in _are_missed(charges, known := _charged(row)):
            receipt, at = _missed(row, charge, known, actor=actor, now=now)
            known.append(payments.write(receipt, agent, now=at, subscription=row, unapplied=unapplied))


def _are_missed(charges: Sequence[Charge], charged: Sequence[Payment]) -> list[Charge]:
    found = _payments(charges, charged)
    first = next((number for number, payment in enumerate(found) if payment), len(found))
    told = zip(charges[first:], found[first:], strict=True)
    return [charge for charge, payment in told if payment is None and charge.cents]


def _missed(
    row: Subscription, charge: Charge, known: Sequence[Payment], *, actor: str, now: datetime
) -> tuple[Receipt, datetime]:
    """And when it was: before the one that was charged in its place, so that this one is the newest."""
    till = (charge.at + relativedelta(months=MONTHS[Period(row.period)])).date()
    ends = [(told_till(payment), payment) for payment in known]
    name, before = f"{row.external_ref}:{till}", [end for end, _ in ends].count(till)
    since = [payment.at - timedelta.resolution for end, payment in ends if till <= end < till + SAME_CHARGE]
    return _receipt(row, charge, name=f"{name}:{before}" if before else name, actor=actor), min([now, *since])


def _receipt(row: Subscription, charge: Charge, *, name: str, actor: str) -> Receipt:
    period, provider = Period(row.period), Provider(row.provider or "")
    return Receipt(
        provider=provider,
        external_id=name,
        kind=PaymentKind.RENEWAL,
        agent_id=row.agent_id,
        purchase=Purchase(
            provider=provider,
            tier=row.tier,
            period=period,
            price_usd=Decimal(charge.cents) / 100,
            tier_snapshot=row.tier_snapshot or {},
        ),
        amount=charge.cents,
        currency="usd",
        actor=actor,
        reason="its provider charged it while nobody looked",
    )


def _charged(row: Subscription) -> list[Payment]:
    same = Payment.objects.filter(subscription__provider=row.provider, subscription__external_ref=row.external_ref)
    rows = same.filter(kind__in=CONFIRMED, provider=row.provider).exclude(period="").prefetch_related("refunds")
    return list(rows.order_by("at", "id"))


def _payments(charges: Sequence[Charge], charged: Sequence[Payment]) -> list[Payment | None]:
    """Of each charge its own payment. The newest charge comes first, for the ledger has that one at least."""
    free, found = list(charged), []
    for charge in reversed(charges):
        payment = _paid_by(charge, free)
        found.append(payment)
        free = [one for one in free if one != payment]
    return found[::-1]


def _paid_by(charge: Charge, charged: Sequence[Payment]) -> Payment | None:
    """The payment whose end is nearest to that of the charge, and of several the newest. A year ends after many charges
    by the month."""
    near: list[tuple[timedelta, Payment]] = []
    for payment in reversed(charged):
        own = (charge.at + relativedelta(months=MONTHS[Period(payment.period)])).date()
        if -SOME_DAYS <= own - told_till(payment) < LATE:
            near.append((abs(own - told_till(payment)), payment))
    return min(near, key=lambda one: one[0])[1] if near else None
