"""Refunds, as Stripe tells of them: all of a payment ends its time, a part takes money only.

Stripe says how much of a charge has gone back so far, so what the ledger does not have yet is what is new.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Sum

from agents.models import Agent
from billing import lapses, part_refunds, payments, remainders
from billing.models import CardSubscription, Payment, StripeInvoice, StripeRefund, Subscription
from billing.models.payments import refund_name
from billing.payments import Receipt
from billing.stripe import cards
from billing.stripe.objects import Charge
from billing.subscriptions import Purchase
from billing.vocabulary import PaymentKind, Period, Provider

REFUNDED = "the money went back to the card"


@transaction.atomic
def note(charge: Charge, *, now: datetime) -> None:
    """Twice is harmless."""
    payment = counted(charge.payment_intent)
    if payment is None:
        return
    holder = remainders.held(payment)
    new = charge.refunded - int(gone_back(payment))
    if new <= 0:
        return
    whole = charge.refunded >= charge.amount
    if whole:
        end(holder, payment, now=now, note=REFUNDED)
    else:
        part_refunds.lessen(payment, new, left=charge.amount - charge.refunded + new)
    asked = StripeRefund.objects.filter(payment=payment).first()
    receipt = way_back(
        payment,
        kind=PaymentKind.REFUND,
        name=refund_name(payment.external_id) if whole else f"{payment.external_id}:refund:{charge.refunded}",
        amount=new,
        actor=asked.actor if asked else cards.ACTOR,
        reason=asked.reason if asked else REFUNDED,
    )
    write(receipt, payment, now=now)
    if whole:
        StripeRefund.objects.filter(payment=payment).update(refund_at=None, refunded_at=now, last_error="")
    lapses.settle(holder, now=now)


def counted(payment_intent: str) -> Payment | None:
    """The row of the ledger that it is."""
    row = StripeInvoice.objects.filter(payment_intent=payment_intent, payment__isnull=False).first()
    return row.payment if row else None


def gone_back(payment: Payment) -> Decimal:
    """How much of it the ledger says went back."""
    rows = Payment.objects.filter(provider=Provider.STRIPE, external_id__startswith=f"{payment.external_id}:")
    return rows.filter(kind=PaymentKind.REFUND).aggregate(sum=Sum("amount"))["sum"] or Decimal(0)


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


def write(receipt: Receipt, payment: Payment, *, now: datetime, subscription: Subscription | None = None) -> Payment:
    """Beside the row of the payment that it is about."""
    about = subscription or payment.subscription
    unapplied = "" if about else payment.unapplied
    return payments.write(receipt, payment.agent, now=now, subscription=about, unapplied=unapplied)
