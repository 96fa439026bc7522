"""Refunds, as Stripe tells of them: all of a payment ends its time, a part takes money only.

Stripe says how much of a charge has gone back so far, and how much of that failed: what the ledger does not have yet
of either is what is new.
"""

from __future__ import annotations

import logging
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Sum

from agents.models import Agent
from billing import lapses, part_refunds, payments, remainders
from billing.models import CardSubscription, Decision, Payment, StripeInvoice, StripeRefund
from billing.models.payments import refund_name
from billing.payments import Receipt
from billing.stripe import cards
from billing.stripe.objects import Charge
from billing.subscriptions import Purchase
from billing.vocabulary import PaymentKind, Period, Provider

log = logging.getLogger(__name__)

REFUNDED = "the money went back to the card"
FAILED = "its refund failed, and the money is ours again"
WAS_LOST, WAS_WON = "the dispute was lost", "the dispute was won"


@transaction.atomic
def note(charge: Charge, *, now: datetime) -> None:
    """Twice is harmless."""
    payment = counted(charge.payment_intent)
    if payment is None:
        return
    holder = remainders.held(payment)
    worth = part_refunds.worth(payment)
    new = charge.refunded - _told(payment, PaymentKind.REFUND)
    failed = charge.failed - _told(payment, PaymentKind.CAME_BACK)
    if new > 0:
        _write_refund(payment, new, charge, whole=new >= worth, now=now)
    left = part_refunds.worth(payment)
    if left < worth and left:
        part_refunds.lessen(payment, worth - left, left=worth)
    elif left < worth:
        end(holder, payment, now=now, note=REFUNDED)
    if failed > 0:
        _write_failure(payment, failed, charge, now=now)
    if new > 0:
        if close_gone(payment, now=now):
            _close_failed(payment, now=now)
        lapses.settle(holder, now=now)


def _told(payment: Payment, kind: PaymentKind) -> int:
    """How much of it the ledger says went back by refunds, or came again, ever."""
    rows = payment.refunds.filter(kind=kind).exclude(reason__in=[WAS_LOST, WAS_WON])
    return int(rows.aggregate(sum=Sum("amount"))["sum"] or 0)


def lost(payment: Payment) -> int:
    """How much of it banks took away in disputes, and did not give back on appeal: no refund of a charge says so."""
    rows = payment.refunds.filter(kind__in=[PaymentKind.REFUND, PaymentKind.CAME_BACK])
    went = rows.filter(kind=PaymentKind.REFUND, reason=WAS_LOST).aggregate(sum=Sum("amount"))["sum"] or 0
    came = rows.filter(kind=PaymentKind.CAME_BACK, reason=WAS_WON).aggregate(sum=Sum("amount"))["sum"] or 0
    return int(went - came)


def _write_refund(payment: Payment, amount: int, charge: Charge, *, whole: bool, now: datetime) -> None:
    asked = StripeRefund.objects.filter(payment=payment).first()
    receipt = way_back(
        payment,
        kind=PaymentKind.REFUND,
        name=_name(payment, amount, charge, whole=whole),
        amount=amount,
        actor=asked.actor if asked else cards.ACTOR,
        reason=asked.reason if asked else REFUNDED,
    )
    write(receipt, payment, now=now)


def _name(payment: Payment, amount: int, charge: Charge, *, whole: bool) -> str:
    """Of a refund after one that failed, the way back of what had come back: so nobody has to decide about that."""
    again = Payment.objects.open().filter(refund_of=payment, kind=PaymentKind.CAME_BACK, amount=amount).first()
    if again is not None:
        return refund_name(again.external_id)
    name = refund_name(payment.external_id)
    known = Payment.objects.filter(provider=Provider.STRIPE, external_id=name)
    return name if whole and not known.exists() else f"{payment.external_id}:refund:{charge.refunded}"


def _write_failure(payment: Payment, amount: int, charge: Charge, *, now: datetime) -> None:
    """What it took stays taken until an operator has decided: the customer waits for the money."""
    log.error("a refund by card failed", extra={"charge": charge.id, "payment": payment.pk})
    name = f"{payment.external_id}:failed:{charge.failed}"
    receipt = way_back(payment, kind=PaymentKind.CAME_BACK, name=name, amount=amount, actor=cards.ACTOR, reason=FAILED)
    payments.write(receipt, payment.agent, now=now, unapplied=FAILED)
    StripeRefund.objects.filter(payment=payment).update(last_error=FAILED)


def close_gone(payment: Payment, *, now: datetime) -> bool:
    """Where nothing of it is left here, nobody sends it back any more; whether it is so."""
    if payment.gone_back < (payment.amount or 0):
        return False
    StripeRefund.objects.filter(payment=payment).update(refund_at=None, refunded_at=now, last_error="")
    return True


def _close_failed(payment: Payment, *, now: datetime) -> None:
    """What had failed to go back has gone with the rest: nobody decides about it any more, should that fail, too."""
    for row in Payment.objects.filter(refund_of=payment, kind=PaymentKind.CAME_BACK, decision=None).exclude(
        unapplied=""
    ):
        Decision.objects.create(payment=row, reason=REFUNDED, actor=cards.ACTOR, at=now)


def counted(payment_intent: str) -> Payment | None:
    """The row of the ledger that it is."""
    row = StripeInvoice.objects.filter(payment_intent=payment_intent, payment__isnull=False).first()
    return row.payment if row else None


def end(holder: Agent, payment: Payment, *, now: datetime, note: str) -> None:
    """What is left of its time ends; and the card that paid it last is not charged again."""
    remainders.take_back(holder, payment, actor=cards.ACTOR, now=now, note=note)
    card = CardSubscription.objects.filter(invoices__payment=payment).first()
    newest = StripeInvoice.objects.filter(card=card, payment__isnull=False).order_by("-payment__at").first()
    if card is not None and newest is not None and newest.payment_id == payment.pk:
        cards.cancel(card.agent, now=now)


def way_back(payment: Payment, *, kind: PaymentKind, name: str, amount: int | None, actor: str, reason: str) -> Receipt:
    return Receipt(
        provider=Provider.STRIPE,
        external_id=name,
        kind=kind,
        agent_id=payment.agent_id,
        purchase=Purchase(
            provider=Provider.STRIPE,
            tier=payment.tier,
            period=Period(payment.period),
            price_usd=payment.price_usd or Decimal(0),
            tier_snapshot={},
        ),
        amount=amount,
        currency=payment.currency if amount is not None else "",
        refund_of=payment.pk if amount is not None else None,
        actor=actor,
        reason=reason,
    )


def write(receipt: Receipt, payment: Payment, *, now: datetime, unapplied: str = "") -> Payment:
    """Beside the row of the payment that it is about."""
    unapplied = unapplied if payment.subscription else payment.unapplied
    return payments.write(receipt, payment.agent, now=now, subscription=payment.subscription, unapplied=unapplied)
