"""The ledger, and the only road from money to what an agent runs on.

`apply_payment` is one transaction: the ledger's row, the order, the subscription, the agent's term and tier, and the
event `payment.confirmed`. A payment is known by its provider and that provider's name for it, and counts once however
often it is told (facts: billing 6).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import IntegrityError, transaction

from agents import profile
from agents.models import Agent, Desired
from billing import lapses, mails, orders, spans, subscriptions
from billing.invoicing import issuing
from billing.invoicing.taxes import Tax
from billing.models import Payment, Subscription
from billing.subscriptions import Purchase
from billing.vocabulary import CONFIRMED, PaymentKind, Provider
from webhooks import events
from webhooks.events import EventType

log = logging.getLogger(__name__)

DELETED = "the agent is deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What happened, and what it buys. `amount` is in the smallest unit of `currency`."""

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
    tax: Tax | None = None  # as whoever took the money reckons it, where our own rates do not say
    actor: str = "billing"
    reason: str = ""


def apply_payment(receipt: Receipt, *, now: datetime) -> Payment:
    """Make it so, once. Returns the ledger's row, the earlier one when it was told before.

    Money for an agent that is gone is written down as `unapplied`: operators decide. Raises LicenceHeld, and
    Agent.DoesNotExist for an agent that never was.
    """
    try:
        return _apply(receipt, now=now)
    except IntegrityError:  # somebody else was quicker, by way of another agent; else it is our defect
        if earlier := known(receipt):
            return earlier
        raise


@transaction.atomic
def _apply(receipt: Receipt, *, now: datetime) -> Payment:
    agent = locked(receipt.agent_id)
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
    lapses.paid_again(agent, now=now)
    if receipt.kind in CONFIRMED:
        _tell(agent, receipt, bought.subscription, now=now)
    return row


def known(receipt: Receipt) -> Payment | None:
    """The row of the ledger that has it already."""
    return Payment.objects.filter(provider=receipt.provider, external_id=receipt.external_id).first()


def locked(agent_id: str) -> Agent:
    """The agent's row, held until the transaction ends: all that changes its term takes it first.

    The lock leaves the key free: others may add rows that refer to this agent. A full lock could deadlock, for two
    refunds that hold an agent each may both write a row about the other's payment.
    """
    return Agent.objects.select_for_update(no_key=True).get(pk=agent_id)


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
    """A row of the ledger, its invoice or credit note, and the mail about it."""
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
    """How it was paid and for which period, and what the agent has by it: beside a licence that is the licence's."""
    data = {
        "subscriptionId": row.pk,
        "provider": receipt.provider,
        "tier": row.tier,
        "period": receipt.purchase.period,
        "paidTill": row.current_period_end.isoformat().replace("+00:00", "Z"),
    }
    events.emit(agent, EventType.PAYMENT_CONFIRMED, data, now=now)
