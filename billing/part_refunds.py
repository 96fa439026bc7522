"""A part of a payment's money goes back. Its time stays, and what is left of it is worth less by as much.

Whoever wants the time back, too, refunds the whole payment (billing/corrections.py).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import F, Q, Sum

from agents.models import Agent
from billing import payments, remainders, timeline, unplaced_charges
from billing.errors import NoPartToRefund
from billing.models import Payment, Span, StripeDispute
from billing.models.payments import part_name, refund_name
from billing.payments import Receipt
from billing.subscriptions import Purchase
from billing.sums import moved
from billing.vocabulary import CONFIRMED, PaymentKind, Period, Provider

NOT_BY_HAND = {Provider.STARS, Provider.STRIPE, Provider.INTERNAL}  # they tell by themselves what goes back
FREE = Decimal(0)
TOLD = "its provider says so"
WON = "its provider says that it is ours again"


def still_ours(payment: Payment) -> int | None:
    """What it was asked for and has not gone back; None where that is nothing, or nobody told how much it was."""
    if payment.amount is None:
        return None
    return int(payment.amount - payment.over - payment.gone_back) or None


def worth(payment: Payment) -> int:
    """How much of it its time still stands for."""
    return max(0, int((payment.amount or 0) - payment.over - payment.taken_off))


def is_by_hand(payment: Payment) -> bool:
    """Whether it bought something and has not gone back, and its provider tells of no refund by itself."""
    bought = not payment.unapplied or unplaced_charges.was_placed(payment)
    if not bought or payment.kind not in CONFIRMED or payment.provider in NOT_BY_HAND:
        return False
    if not Payment.objects.filter(pk=payment.pk).not_returned().exists():
        return False
    return not payment.refunds.exists() if payment.amount is None else still_ours(payment) is not None


@transaction.atomic
def refund_part(payment: Payment, *, amount: int, reason: str, actor: str, now: datetime) -> Payment:
    """So much of it, in its smallest units, went back at its provider or from a wallet. Raises NoPartToRefund."""
    agent = remainders.held(payment)
    left = _left(payment)
    if not 0 < amount < left:
        raise NoPartToRefund(payment.pk, f"{amount} given, 1 to {left - 1} allowed (smallest units)")
    return _write(agent, payment, amount, left=left, reason=reason, actor=actor, now=now)


@transaction.atomic
def note(payment: Payment, *, returned: int, actor: str, now: datetime) -> None:
    """Its provider says how much of it has gone back in all. The same again changes nothing."""
    agent = remainders.held(payment)
    left = still_ours(payment) or 0
    if not Payment.objects.filter(pk=payment.pk).not_returned().exists():
        return
    more = min(returned - int(payment.gone_back), left)
    if more > 0:
        _write(agent, payment, more, left=left, reason=TOLD, actor=actor, now=now)
    if more < 0:
        _note_won(agent, payment, returned=returned, actor=actor, now=now)


def _note_won(agent: Agent, payment: Payment, *, returned: int, actor: str, now: datetime) -> None:
    """Where its provider says that less has gone back than it said before: a dispute was won."""
    told = payment.refunds.filter(reason__in=[TOLD, WON])
    sums = told.aggregate(gone=Sum("amount", filter=Q(reason=TOLD)), won=Sum("amount", filter=Q(reason=WON)))
    amount = int((sums["gone"] or 0) - (sums["won"] or 0)) - returned
    if amount <= 0:
        return
    name = f"{payment.external_id}:won:{told.count()}"
    receipt = replace(_receipt(payment, amount, reason=WON, actor=actor), external_id=name, kind=PaymentKind.CAME_BACK)
    written = payments.write(receipt, payment.agent, now=now, subscription=payment.subscription)
    timeline.note(agent, f"{moved(written)} of payment {payment.pk} came back: {WON}", actor=actor, now=now)


def was_told(payment: Payment) -> bool:
    """Whether the ledger has a part that went back by its provider's word."""
    return any(row.reason == TOLD for row in payment.refunds.all())


@transaction.atomic
def note_all(payment: Payment, *, actor: str, now: datetime) -> None:
    """Its provider says that it has gone back, and nobody told how much it was. The same again changes nothing."""
    agent = remainders.held(payment)
    if payment.refunds.exists() or not Payment.objects.filter(pk=payment.pk).not_returned().exists():
        return
    name = refund_name(payment.external_id)
    receipt = replace(_receipt(payment, 0, reason=TOLD, actor=actor), external_id=name, amount=None)
    payments.write(receipt, payment.agent, now=now, subscription=payment.subscription)
    timeline.note(agent, f"payment {payment.pk} went back: {TOLD}", actor=actor, now=now)


def _write(
    agent: Agent, payment: Payment, amount: int, *, left: int, reason: str, actor: str, now: datetime
) -> Payment:
    receipt = _receipt(payment, amount, reason=reason, actor=actor)
    written = payments.write(receipt, payment.agent, now=now, subscription=payment.subscription)
    lessen(payment, amount, left=left)
    words = f"{moved(written)} of payment {payment.pk} went back; the time stays: {reason}"
    timeline.note(agent, words, actor=actor, now=now)
    return written


def lessen(payment: Payment, amount: int, *, left: int) -> None:
    """So much went back of what was left of its money: its time is worth less by as much, also while it is disputed.

    As decimals: PostgreSQL would take whole numbers for its integers, which are too small for coins.
    """
    worth = F("usd") * Decimal(left - amount) / Decimal(left)
    Span.objects.filter(payment=payment).update(usd=worth)
    StripeDispute.objects.filter(payment=payment, is_taken=True).update(usd=worth)


def _left(payment: Payment) -> int:
    left = still_ours(payment) if is_by_hand(payment) else None
    if left is None:
        why = "it bought nothing, all of it has gone back, nobody told how much it was, or its provider tells by itself"
        raise NoPartToRefund(payment.pk, why)
    return left


def _ever_gone(payment: Payment) -> int:
    """With what has come back since: no two parts have the same name."""
    gone = payment.refunds.exclude(kind=PaymentKind.CAME_BACK)
    return int(gone.aggregate(sum=Sum("amount"))["sum"] or 0)


def _receipt(payment: Payment, amount: int, *, reason: str, actor: str) -> Receipt:
    back, ever = int(payment.gone_back) + amount, _ever_gone(payment) + amount
    is_all = payment.unapplied and back == payment.amount  # then nobody has to decide about it
    return Receipt(
        provider=Provider(payment.provider),
        external_id=refund_name(payment.external_id) if is_all else part_name(payment.external_id, ever),
        kind=PaymentKind.REFUND,
        agent_id=payment.agent_id,
        purchase=Purchase(
            provider=None,
            tier=payment.tier,
            period=Period(payment.period),
            price_usd=FREE,
            tier_snapshot={},
        ),
        amount=amount,
        currency=payment.currency,
        refund_of=payment.pk,
        actor=actor,
        reason=reason,
    )
