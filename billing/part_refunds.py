"""A part of a payment goes back. The time of the payment stays, and its value falls by the same share.

To take back the time too, refund the whole payment (billing/corrections.py).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import F, Q, Sum

from agents import timeline
from agents.models import Agent, Reason
from billing import payments, unplaced_charges, unused_time
from billing.errors import NoPartToRefund
from billing.models import Payment, Span, StripeDispute
from billing.models.payments import part_name, refund_name
from billing.payments import Receipt
from billing.providers import registry
from billing.subscriptions import Purchase
from billing.sums import moved
from billing.vocabulary import CONFIRMED, PaymentKind, Provider

TOLD = "its provider says so"
WON = "its provider says that it is ours again"


def still_ours(payment: Payment) -> int | None:
    """The part of the order's price that we still have, in smallest units.

    None if that is 0 or the amount is unknown.
    """
    if payment.amount is None:
        return None
    return int(payment.amount - payment.over - payment.gone_back) or None


def worth(payment: Payment) -> int:
    """The part of the payment that its time is still worth, in smallest units."""
    return max(0, int((payment.amount or 0) - payment.over - payment.taken_off))


def is_by_hand(payment: Payment) -> bool:
    """Whether an operator must write this payment's refund in the ledger.

    True for a payment that bought something and was not refunded, if its provider does not report refunds by itself.
    """
    bought = not payment.unapplied or unplaced_charges.was_placed(payment)
    driver = registry.driver_of(Provider(payment.provider))
    if not bought or payment.kind not in CONFIRMED or driver is None or driver.sends_back:
        return False
    if not Payment.objects.filter(pk=payment.pk).not_returned().exists():
        return False
    return not payment.refunds.exists() if payment.amount is None else still_ours(payment) is not None


@transaction.atomic
def refund_part(payment: Payment, *, amount: int, reason: str, actor: str, now: datetime) -> Payment:
    """An operator sent back `amount` smallest units at the provider or from a wallet. Raises NoPartToRefund."""
    agent = unused_time.held(payment)
    left = _left(payment)
    if not 0 < amount < left:
        raise NoPartToRefund(payment.pk, f"{amount} given, but only 1 to {left - 1} is allowed (smallest units)")
    return _write(agent, payment, amount, left=left, reason=reason, actor=actor, now=now)


@transaction.atomic
def note(payment: Payment, *, returned: int, actor: str, now: datetime) -> None:
    """The provider says that `returned` smallest units have gone back in all. The same number again changes nothing."""
    agent = unused_time.held(payment)
    left = still_ours(payment) or 0
    if not Payment.objects.filter(pk=payment.pk).not_returned().exists():
        return
    more = min(returned - int(payment.gone_back), left)
    if more > 0:
        _write(agent, payment, more, left=left, reason=TOLD, actor=actor, now=now)
    if more < 0:
        _note_won(agent, payment, returned=returned, actor=actor, now=now)


def _note_won(agent: Agent, payment: Payment, *, returned: int, actor: str, now: datetime) -> None:
    """The provider says that less has gone back than it said before: we won a dispute."""
    told = payment.refunds.filter(reason__in=[TOLD, WON])
    sums = told.aggregate(gone=Sum("amount", filter=Q(reason=TOLD)), won=Sum("amount", filter=Q(reason=WON)))
    amount = int((sums["gone"] or 0) - (sums["won"] or 0)) - returned
    if amount <= 0:
        return
    name = f"{payment.external_id}:won:{told.count()}"
    receipt = replace(_receipt(payment, amount, reason=WON, actor=actor), external_id=name, kind=PaymentKind.CAME_BACK)
    written = payments.write(receipt, payment.agent, now=now, subscription=payment.subscription)
    words = f"{moved(written)} of payment {payment.pk} came back: {WON}"
    timeline.note(agent, words, reason=Reason.PAYMENT, actor=actor, now=now)


def was_told(payment: Payment) -> bool:
    """Whether the ledger has a part of this payment that the provider reported as refunded."""
    return any(row.reason == TOLD for row in payment.refunds.all())


@transaction.atomic
def note_all(payment: Payment, *, actor: str, now: datetime) -> None:
    """The provider says that the payment was refunded, but its amount is unknown. The same again changes nothing."""
    agent = unused_time.held(payment)
    if payment.refunds.exists() or not Payment.objects.filter(pk=payment.pk).not_returned().exists():
        return
    name = refund_name(payment.external_id)
    receipt = replace(_receipt(payment, 0, reason=TOLD, actor=actor), external_id=name, amount=None)
    payments.write(receipt, payment.agent, now=now, subscription=payment.subscription)
    timeline.note(agent, f"payment {payment.pk} went back: {TOLD}", reason=Reason.PAYMENT, actor=actor, now=now)


def _write(
    agent: Agent, payment: Payment, amount: int, *, left: int, reason: str, actor: str, now: datetime
) -> Payment:
    receipt = _receipt(payment, amount, reason=reason, actor=actor)
    written = payments.write(receipt, payment.agent, now=now, subscription=payment.subscription)
    lessen(payment, amount, left=left)
    words = f"{moved(written)} of payment {payment.pk} went back; the time stays: {reason}"
    timeline.note(agent, words, reason=Reason.PAYMENT, actor=actor, now=now)
    return written


def lessen(payment: Payment, amount: int, *, left: int) -> None:
    """Lower the value of the payment's time by the share `amount / left`, also for time that a dispute holds.

    The numbers are decimals because PostgreSQL's integers are too small for the smallest units of coins.
    """
    worth = F("usd") * Decimal(left - amount) / Decimal(left)
    Span.objects.filter(payment=payment).update(usd=worth)
    StripeDispute.objects.filter(payment=payment, is_taken=True).update(usd=worth)


def _left(payment: Payment) -> int:
    left = still_ours(payment) if is_by_hand(payment) else None
    if left is None:
        why = "it bought nothing, all of it was sent back, its sum is unknown, or its provider reports refunds itself"
        raise NoPartToRefund(payment.pk, why)
    return left


def _ever_gone(payment: Payment) -> int:
    """All that was ever sent back, including money that came back later, so that no two parts get the same name."""
    gone = payment.refunds.exclude(kind=PaymentKind.CAME_BACK)
    return int(gone.aggregate(sum=Sum("amount"))["sum"] or 0)


def _receipt(payment: Payment, amount: int, *, reason: str, actor: str) -> Receipt:
    back, ever = int(payment.gone_back) + amount, _ever_gone(payment) + amount
    is_all = payment.unapplied and back == payment.amount  # then no operator has to decide about it
    return Receipt(
        provider=Provider(payment.provider),
        external_id=refund_name(payment.external_id) if is_all else part_name(payment.external_id, ever),
        kind=PaymentKind.REFUND,
        agent_id=payment.agent_id,
        purchase=Purchase.of(payment),
        amount=amount,
        currency=payment.currency,
        refund_of=payment.pk,
        actor=actor,
        reason=reason,
    )
