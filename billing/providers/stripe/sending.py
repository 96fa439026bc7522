"""Refunds through Stripe that an operator asked for. A failed call is repeated later, until Stripe has done it.

The ledger's row with the amount is written when Stripe reports the refund (billing/providers/stripe/returns.py).
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db.models import F, Sum

from billing.models import Payment, StripeInvoice, StripeRefund
from billing.models.stripe import ERROR
from billing.providers.stripe import api, configuration
from billing.providers.stripe.api import StripeAway, StripeRefused
from billing.providers.stripe.retries import FIRST_WAIT, LEASE, wait_after
from billing.vocabulary import PaymentKind
from config import background

log = logging.getLogger(__name__)

BATCH = 50


def ask(payment: Payment, *, reason: str, actor: str, now: datetime) -> None:
    """Make the refund of all that is left of this payment due, once. The caller holds the agent's lock."""
    known = StripeInvoice.objects.filter(payment=payment).first()
    if known is None or not known.payment_intent or payment.gone_back >= (payment.amount or 0):
        return
    values = {
        "payment_intent": known.payment_intent,
        "refund_at": now,
        "actor": actor,
        "reason": reason,
        "asked_at": now,
    }
    StripeRefund.objects.get_or_create(payment=payment, defaults=values)
    background.on_commit("billing.send_back_by_card")


def send_due(*, now: datetime) -> int:
    """Send the refunds that are due, the longest overdue first. Returns how many Stripe has accepted."""
    if not configuration.is_configured():
        return 0
    due = list(StripeRefund.objects.filter(refund_at__lte=now).order_by("refund_at")[:BATCH])
    return sum(_send(asked, now=now) for asked in due)


def _send(asked: StripeRefund, *, now: datetime) -> bool:
    """Send one refund, outside of any transaction. If it is sent twice, Stripe answers that it is refunded already."""
    claimed = StripeRefund.objects.filter(pk=asked.pk, refund_at=asked.refund_at)
    if not claimed.update(refund_at=now + LEASE, attempts=F("attempts") + 1):
        return False
    cents = _cents(asked.payment)
    key = f"refund:{asked.payment_id}" if cents is None else f"refund:{asked.payment_id}:{cents}"
    try:
        api.refund(asked.payment_intent, cents=cents, key=key)
    except StripeAway as away:
        _later(asked, away.message, now=now, at_least=timedelta(seconds=int(away.headers["Retry-After"])))
        return False
    except StripeRefused as refusal:
        log.exception("Stripe does not send money back", extra={"payment": asked.payment_id})
        _later(asked, str(refusal), now=now)
        return False
    done = StripeRefund.objects.filter(pk=asked.pk, refunded_at=None)
    done.update(refund_at=None, refunded_at=now, last_error="")
    return True


def _cents(payment: Payment) -> int | None:
    """The cents to refund, or None for all that is left at Stripe.

    An operator may have sent back an earlier failed refund another way, or given days for it: that part is not sent
    again.
    """
    failed = payment.refunds.filter(kind=PaymentKind.CAME_BACK).exclude(unapplied="").exclude(decision=None)
    settled = failed.aggregate(sum=Sum("amount"))["sum"]
    return int((payment.amount or 0) - payment.gone_back - settled) if settled else None


def _later(asked: StripeRefund, problem: str, *, now: datetime, at_least: timedelta = FIRST_WAIT) -> None:
    open_ = StripeRefund.objects.filter(pk=asked.pk, refunded_at=None)
    open_.update(refund_at=now + wait_after(asked.attempts, at_least=at_least), last_error=problem[:ERROR])
