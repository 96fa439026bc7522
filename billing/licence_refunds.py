"""Compare the provider's list of charges with the ledger: missed charges, and refunds of each charge.

billing/licences.py writes the newest charge with the time that it pays for. billing/revocations.py ends the licence
when the charge for the running time is fully refunded. Everything else is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from dateutil.relativedelta import relativedelta
from django.db import transaction

from agents.models import Agent
from billing import part_refunds, payments
from billing.licence_charges import SAME_CHARGE, told_till
from billing.models import Payment, Subscription
from billing.payments import Receipt
from billing.periods import MONTHS
from billing.providers.base import LicenceCharge, Verdict
from billing.subscriptions import Purchase
from billing.vocabulary import CONFIRMED, PaymentKind, Period, Provider

SOME_DAYS = timedelta(days=5)  # between the end of the time that a charge paid for and the end that its licence named
LATE = timedelta(days=23)  # a refused card may be charged as much as this later; the next charge is 28 days away


def note(row: Subscription, verdict: Verdict, *, actor: str, now: datetime, unapplied: str = "") -> None:
    """Write each missed charge and each refunded amount once. `unapplied` says why the charges buy nothing here.

    Charges from before the licence was used here are left out.
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


def _note_missed(
    row: Subscription, charges: Sequence[LicenceCharge], *, actor: str, now: datetime, unapplied: str
) -> None:
    """Write charges that nobody saw: workers were away for more than a period, or the card was charged twice.

    They add no time: the end that the provider names already includes it. A charge whose amount was unknown already has
    its row in the ledger. A charge of 0 needs no row.
    """
    if not _are_missed(charges, _charged(row)):
        return
    with transaction.atomic():
        agent = Agent.objects.lock(row.agent_id)
        for charge in _are_missed(charges, known := _charged(row)):
            receipt, at = _missed(row, charge, known, actor=actor, now=now)
            known.append(payments.write(receipt, agent, now=at, subscription=row, unapplied=unapplied))


def _are_missed(charges: Sequence[LicenceCharge], charged: Sequence[Payment]) -> list[LicenceCharge]:
    found = _payments(charges, charged)
    first = next((number for number, payment in enumerate(found) if payment), len(found))
    told = zip(charges[first:], found[first:], strict=True)
    return [charge for charge, payment in told if payment is None and charge.cents]


def _missed(
    row: Subscription, charge: LicenceCharge, known: Sequence[Payment], *, actor: str, now: datetime
) -> tuple[Receipt, datetime]:
    """The receipt of a missed charge and its time in the ledger.

    The time is before the charge that replaced it, so that this later charge remains the newest one.
    """
    till = (charge.at + relativedelta(months=MONTHS[Period(row.period)])).date()
    ends = [(told_till(payment), payment) for payment in known]
    name, before = f"{row.external_ref}:{till}", [end for end, _ in ends].count(till)
    since = [payment.at - timedelta.resolution for end, payment in ends if till <= end < till + SAME_CHARGE]
    return _receipt(row, charge, name=f"{name}:{before}" if before else name, actor=actor), min([now, *since])


def _receipt(row: Subscription, charge: LicenceCharge, *, name: str, actor: str) -> Receipt:
    provider = Provider(row.provider or "")
    return Receipt(
        provider=provider,
        external_id=name,
        kind=PaymentKind.RENEWAL,
        agent_id=row.agent_id,
        purchase=Purchase.as_in(row, provider=provider, price_usd=Decimal(charge.cents) / 100),
        amount=charge.cents,
        currency="usd",
        actor=actor,
        reason="its provider charged it while nobody looked",
    )


def _charged(row: Subscription) -> list[Payment]:
    same = Payment.objects.filter(subscription__provider=row.provider, subscription__external_ref=row.external_ref)
    rows = same.filter(kind__in=CONFIRMED, provider=row.provider).exclude(period="").prefetch_related("refunds")
    return list(rows.order_by("at", "id"))


def _payments(charges: Sequence[LicenceCharge], charged: Sequence[Payment]) -> list[Payment | None]:
    """For each charge its payment, or None. The newest charge chooses first, since the ledger has at least that one."""
    free, found = list(charged), []
    for charge in reversed(charges):
        payment = _paid_by(charge, free)
        found.append(payment)
        free = [one for one in free if one != payment]
    return found[::-1]


def _paid_by(charge: LicenceCharge, charged: Sequence[Payment]) -> Payment | None:
    """The payment whose end is nearest to the end of the charge; of several, the newest.

    The end of the charge is computed with each payment's own period, since a licence may change between months and
    years.
    """
    near: list[tuple[timedelta, Payment]] = []
    for payment in reversed(charged):
        own = (charge.at + relativedelta(months=MONTHS[Period(payment.period)])).date()
        if -SOME_DAYS <= own - told_till(payment) < LATE:
            near.append((abs(own - told_till(payment)), payment))
    return min(near, key=lambda one: one[0])[1] if near else None
