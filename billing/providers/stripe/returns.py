"""Refunds that Stripe reports: a full refund ends the payment's time, a partial refund takes only money.

Stripe lists the refunds of a charge, and which of them failed. What the ledger does not have yet is new.
"""

from __future__ import annotations

import logging
from collections import Counter
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet, Sum

from agents.models import Agent
from billing import dunning, part_refunds, payments, unused_time
from billing.models import CardSubscription, Decision, Payment, StripeInvoice, StripeRefund
from billing.models.payments import refund_name
from billing.payments import Receipt
from billing.providers.stripe import cards
from billing.providers.stripe.objects import StripeCharge
from billing.subscriptions import FREE, Purchase
from billing.vocabulary import PaymentKind, Provider

log = logging.getLogger(__name__)

REFUNDED = "the money went back to the card"
FAILED = "its refund failed, and the money is ours again"
WAS_LOST, WAS_WON = "the dispute was lost", "the dispute was won"


@transaction.atomic
def note(charge: StripeCharge, *, now: datetime) -> None:
    """Write each new refund and each new failure, in the order in which the refunds were made.

    So the result is the same whenever the list is read. Calling this twice is harmless. A failed refund counts as
    failed before the next refund was made, unless the ledger has another order.
    """
    payment = counted(charge.payment_intent)
    if payment is None:
        return
    holder = unused_time.held(payment)
    told, failures = _told(payment, PaymentKind.REFUND), _Failures(payment, charge)
    gone = 0
    for refund in charge.refunds:
        gone += refund.cents
        if (new := min(refund.cents, gone - told)) > 0:
            _go_back(holder, payment, new, gone=gone, now=now)
        if refund.failed and (came := failures.new(refund.cents)) > 0:
            _write_failure(payment, came, charge, in_all=failures.told, now=now)
    if gone > told:
        dunning.settle(holder, now=now)


class _Failures:
    """The failed refunds that the ledger already has, by their cents, since it keeps no refund ids.

    Never more than have failed in all.
    """

    def __init__(self, payment: Payment, charge: StripeCharge) -> None:
        rows = _told_rows(payment, PaymentKind.CAME_BACK).values_list("amount", flat=True)
        self._known = Counter(int(amount or 0) for amount in rows)
        self.told = sum(self._known.elements())
        self._left = sum(one.cents for one in charge.refunds if one.failed) - self.told

    def new(self, cents: int) -> int:
        """How many of these cents are not in the ledger yet."""
        if self._known[cents]:
            self._known[cents] -= 1
            return 0
        found = min(cents, self._left)
        self._left -= found
        self.told += found
        return found


def _go_back(holder: Agent, payment: Payment, cents: int, *, gone: int, now: datetime) -> None:
    """Write one refund and follow it.

    `gone` is the sum of the charge's refunds up to and including this one, in cents.
    """
    worth = part_refunds.worth(payment)
    _write_refund(payment, cents, whole=cents >= worth, gone=gone, now=now)
    left = part_refunds.worth(payment)
    if left < worth and left:
        part_refunds.lessen(payment, worth - left, left=worth)
    elif left < worth:
        end(holder, payment, now=now, note=REFUNDED)
    if close_gone(payment, now=now):
        _close_failed(payment, now=now)


def _told(payment: Payment, kind: PaymentKind) -> int:
    """How much of the payment was ever refunded, or came back, in the ledger. Without disputes."""
    return int(_told_rows(payment, kind).aggregate(sum=Sum("amount"))["sum"] or 0)


def _told_rows(payment: Payment, kind: PaymentKind) -> QuerySet[Payment]:
    return payment.refunds.filter(kind=kind).exclude(reason__in=[WAS_LOST, WAS_WON])


def lost(payment: Payment) -> int:
    """How much banks took in disputes and did not give back on appeal. The refunds of a charge do not show it."""
    rows = payment.refunds.filter(kind__in=[PaymentKind.REFUND, PaymentKind.CAME_BACK])
    went = rows.filter(kind=PaymentKind.REFUND, reason=WAS_LOST).aggregate(sum=Sum("amount"))["sum"] or 0
    came = rows.filter(kind=PaymentKind.CAME_BACK, reason=WAS_WON).aggregate(sum=Sum("amount"))["sum"] or 0
    return int(went - came)


def _write_refund(payment: Payment, amount: int, *, whole: bool, gone: int, now: datetime) -> None:
    asked = StripeRefund.objects.filter(payment=payment).first()
    receipt = way_back(
        payment,
        kind=PaymentKind.REFUND,
        name=_name(payment, amount, whole=whole, gone=gone),
        amount=amount,
        actor=asked.actor if asked else cards.ACTOR,
        reason=asked.reason if asked else REFUNDED,
    )
    write(receipt, payment, now=now)


def _name(payment: Payment, amount: int, *, whole: bool, gone: int) -> str:
    """The name of the refund's row.

    If it repeats a refund that failed, it is named as the refund of the money that came back, so no operator has to
    decide about that money.
    """
    again = Payment.objects.open().filter(refund_of=payment, kind=PaymentKind.CAME_BACK, amount=amount).first()
    if again is not None:
        return refund_name(again.external_id)
    name = refund_name(payment.external_id)
    known = Payment.objects.filter(provider=Provider.STRIPE, external_id=name)
    return name if whole and not known.exists() else f"{payment.external_id}:refund:{gone}"


def _write_failure(payment: Payment, amount: int, charge: StripeCharge, *, in_all: int, now: datetime) -> None:
    """Write a failed refund. The time stays taken until an operator decides: the customer waits for the money."""
    log.error("a refund by card failed", extra={"charge": charge.id, "payment": payment.pk})
    name = f"{payment.external_id}:failed:{in_all}"
    receipt = way_back(payment, kind=PaymentKind.CAME_BACK, name=name, amount=amount, actor=cards.ACTOR, reason=FAILED)
    payments.write(receipt, payment.agent, now=now, unapplied=FAILED)
    StripeRefund.objects.filter(payment=payment).update(last_error=FAILED)


def close_gone(payment: Payment, *, now: datetime) -> bool:
    """If we have nothing left of the payment, stop the refunds that are still due. Returns whether that is so."""
    if payment.gone_back < (payment.amount or 0):
        return False
    StripeRefund.objects.filter(payment=payment).update(refund_at=None, refunded_at=now, last_error="")
    return True


def _close_failed(payment: Payment, *, now: datetime) -> None:
    """Close the failed refunds of a payment that is now fully refunded: operators need not decide about them now."""
    for row in Payment.objects.filter(refund_of=payment, kind=PaymentKind.CAME_BACK, decision=None).exclude(
        unapplied=""
    ):
        Decision.objects.create(payment=row, reason=REFUNDED, actor=cards.ACTOR, at=now)


def counted(payment_intent: str) -> Payment | None:
    """The ledger's row of this payment, or None."""
    row = StripeInvoice.objects.filter(payment_intent=payment_intent, payment__isnull=False).first()
    return row.payment if row else None


def end(holder: Agent, payment: Payment, *, now: datetime, note: str) -> None:
    """End the rest of the payment's time. If it was the card's last payment, stop charging the card."""
    unused_time.take_back(holder, payment, actor=cards.ACTOR, now=now, note=note)
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
        purchase=Purchase.of(payment, provider=Provider.STRIPE, price_usd=payment.price_usd or FREE),
        amount=amount,
        currency=payment.currency if amount is not None else "",
        refund_of=payment.pk if amount is not None else None,
        actor=actor,
        reason=reason,
    )


def write(receipt: Receipt, payment: Payment, *, now: datetime, unapplied: str = "") -> Payment:
    """Write a row with the payment's subscription. If the payment bought nothing, the row gets the payment's reason."""
    unapplied = unapplied if payment.subscription else payment.unapplied
    return payments.write(receipt, payment.agent, now=now, subscription=payment.subscription, unapplied=unapplied)
