"""The ledger. Payments change what an agent runs on only through this module.

`apply_payment` is one transaction: the ledger's row, the order, the subscription, the agent's term and tier, and the
event `payment.confirmed`. A payment is identified by its provider and the provider's id, and counts once, however often
the provider reports it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import IntegrityError, transaction

from agents.configuring import profile
from agents.models import Agent, Desired
from billing import dunning, mails, orders, spans, subscriptions
from billing.invoicing import issuing
from billing.invoicing.taxes import Tax
from billing.models import Payment, Subscription
from billing.subscriptions import Purchase
from billing.vocabulary import CONFIRMED, PaymentKind, Provider
from webhooks import events
from webhooks.event_types import EventType

log = logging.getLogger(__name__)

DELETED = "the agent is deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was paid, and what it buys. `amount` is in the smallest unit of `currency`."""

    provider: Provider
    external_id: str
    kind: PaymentKind = PaymentKind.PAYMENT
    agent_id: str
    purchase: Purchase
    amount: int | None = None
    currency: str = ""
    over: int = 0
    late: bool = False
    order_id: str | None = None
    refund_of: str | None = None  # the id of the payment whose money goes back
    tax: Tax | None = None  # the tax as the provider computed it; None: our own tax rates
    actor: str = "billing"
    reason: str = ""


def apply_payment(receipt: Receipt, *, now: datetime) -> Payment:
    """Apply a payment once. Returns the ledger's row; if the payment is known already, its earlier row.

    A payment for a deleted agent is written as `unapplied`, and operators decide about it. Raises LicenceHeld, and
    Agent.DoesNotExist for an agent that never existed.
    """
    try:
        return _apply(receipt, now=now)
    except IntegrityError:  # a parallel call wrote it first, for another agent; otherwise this is a bug
        if earlier := known(receipt):
            return earlier
        raise


@transaction.atomic
def _apply(receipt: Receipt, *, now: datetime) -> Payment:
    agent = Agent.objects.lock(receipt.agent_id)
    order = orders.locked(receipt.order_id) if receipt.order_id else None
    if earlier := known(receipt):
        return earlier
    if agent.desired == Desired.DELETED:
        log.error("money for a deleted agent", extra={"agent": agent.pk, "payment": receipt.external_id})
        return write(receipt, agent, now=now, unapplied=DELETED)
    bought = subscriptions.buy(agent, receipt.purchase, actor=receipt.actor, now=now)
    if order is not None:
        orders.pay(order, now=now)
    row = write(receipt, agent, now=now, subscription=bought.subscription, converted=bought.converted)
    spans.own(bought.subscription, row)
    agent = profile.follow_payment(agent, bought.subscription.tier)
    dunning.paid_again(agent, now=now)
    if receipt.kind in CONFIRMED:
        _tell(agent, receipt, bought.subscription, now=now)
    return row


def known(receipt: Receipt) -> Payment | None:
    """The ledger's row for this payment, if there is one."""
    return Payment.objects.filter(provider=receipt.provider, external_id=receipt.external_id).first()


def write(
    receipt: Receipt,
    agent: Agent,
    *,
    now: datetime,
    subscription: Subscription | None = None,
    converted: timedelta = timedelta(0),
    unapplied: str = "",
    mailed: bool = True,
) -> Payment:
    """Write a row of the ledger with its invoice or credit note, and send the mail about it."""
    purchase = receipt.purchase
    row = Payment.objects.create(
        provider=receipt.provider,
        external_id=receipt.external_id,
        kind=receipt.kind,
        user_id=agent.user_id,
        agent=agent,
        subscription=subscription,
        order_id=receipt.order_id,
        refund_of_id=receipt.refund_of,
        tier=purchase.tier,
        period=purchase.period,
        price_usd=purchase.price_usd,
        amount=None if receipt.amount is None else Decimal(receipt.amount),
        currency=receipt.currency,
        over=Decimal(receipt.over),
        late=receipt.late,
        paid_till=subscription.current_period_end if subscription else None,
        converted=converted,
        unapplied=unapplied,
        actor=receipt.actor,
        reason=receipt.reason,
        at=now,
    )
    invoice = issuing.issue(row, tax=receipt.tax, now=now)
    if mailed:
        mails.tell_of(row, invoice=invoice)
    return row


def _tell(agent: Agent, receipt: Receipt, row: Subscription, *, now: datetime) -> None:
    """Emit `payment.confirmed`: the provider and the period that were paid, and the plan that the agent has now.

    Beside a licence, plan and end are those of the licence.
    """
    data = {
        "subscriptionId": row.pk,
        "provider": receipt.provider,
        "tier": row.tier,
        "period": receipt.purchase.period,
        "paidTill": row.current_period_end.isoformat().replace("+00:00", "Z"),
    }
    events.emit(agent, EventType.PAYMENT_CONFIRMED, data, now=now)
