"""Invoices of Stripe's: each paid one buys one period, through the ledger; of one that fails its owner is told.

All that an invoice does is one transaction under the agent's lock. Whoever tells of it, a webhook, the list of events
or the daily look, may tell it as often as they like.
"""

from __future__ import annotations

import logging
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from agents.models import Agent, Desired
from billing import lapses, mails, orders, payments, standing
from billing.invoicing.taxes import HUNDRED, Tax
from billing.models import CardSubscription, Payment, StripeInvoice
from billing.payments import Receipt
from billing.stripe import cards
from billing.stripe.checkouts import CURRENCY, cents
from billing.stripe.objects import Bill
from billing.subscriptions import Purchase
from billing.sums import CENT
from billing.vocabulary import OrderStatus, PaymentKind, Period, Provider

log = logging.getLogger(__name__)

MAX_CURRENCY = 12
PAID, OPEN = "paid", "open"


@transaction.atomic
def take(bill: Bill, *, now: datetime) -> None:
    """Count it, once it is paid; note why it bought nothing; or tell of a charge that failed."""
    card = CardSubscription.objects.select_related("order").get(subscription_id=bill.subscription)
    agent = payments.locked(card.agent_id)
    card.refresh_from_db(fields=["canceled_at", "status"])
    row, _ = StripeInvoice.objects.get_or_create(invoice_id=bill.id, defaults={"card": card, "seen_at": now})
    if row.payment_id is not None:
        return
    if bill.status == PAID and (bill.paid or bill.elsewhere):
        row.payment, row.payment_intent = _pay(agent, card, bill, now=now), bill.payment_intent
        row.save(update_fields=["payment", "payment_intent"])
    elif bill.status == OPEN and bill.attempts and not bill.is_first and row.failed_at is None:
        StripeInvoice.objects.filter(pk=row.pk).update(failed_at=now)
        _tell_of_failure(agent, card, bill, now=now)


def _pay(agent: Agent, card: CardSubscription, bill: Bill, *, now: datetime) -> Payment:
    orders.locked(card.order_id)
    card.order.refresh_from_db()
    receipt = _receipt(card, bill)
    why = _why_not(card, bill)
    if why:
        log.error("an invoice of Stripe's buys nothing: %s", why, extra={"invoice": bill.id, "agent": agent.pk})
        paid = payments.write(receipt, agent, now=now, unapplied=why[:200])
    else:
        paid = payments.apply_payment(receipt, now=now)
    if paid.unapplied:
        orders.expire(orders.locked(card.order_id))  # nobody is waiting for it: an operator decides
    else:
        cards.cancel(agent, now=now, but=card)
    return paid


def _why_not(card: CardSubscription, bill: Bill) -> str:
    """Empty where it is what was ordered: Stripe's word is held against our own rows."""
    asked = cents(card.order)
    if (bill.currency, bill.paid, bill.total, bill.elsewhere) != (CURRENCY, asked, asked, 0):
        came = f"{_money(bill.paid)} of {_money(bill.total)} {bill.currency.upper()[:MAX_CURRENCY]}"
        return f"{came} were paid by card, not {_money(asked)} USD"
    if bill.customer != card.customer_id:
        return f"another customer paid it: {bill.customer}"
    if bill.order not in {"", card.order_id}:
        return f"it says that it is for another order: {bill.order}"
    if card.canceled_at and bill.paid_at and bill.paid_at > card.canceled_at:
        return "the card was charged after its subscription had been canceled here"
    return ""


def _money(units: int) -> str:
    return f"{Decimal(units) / 100:.2f}"


def _receipt(card: CardSubscription, bill: Bill) -> Receipt:
    order = card.order
    first = order.status != OrderStatus.PAID
    return Receipt(
        provider=Provider.STRIPE,
        external_id=bill.id,
        kind=PaymentKind.PAYMENT if first else PaymentKind.RENEWAL,
        agent_id=card.agent_id,
        purchase=Purchase(
            provider=Provider.STRIPE,
            tier=order.tier,
            period=Period(order.period),
            price_usd=order.price_usd,
            tier_snapshot=order.tier_snapshot,
            follows=not first,
        ),
        amount=bill.paid or None,
        currency=bill.currency[:MAX_CURRENCY],
        late=order.status == OrderStatus.EXPIRED,
        order_id=order.pk if first else None,
        actor=cards.ACTOR,
        tax=_tax(bill),
    )


def _tax(bill: Bill) -> Tax | None:
    """What Stripe Tax found in the price. None where it does not reckon: then our own rates do."""
    if bill.reverse_charge:
        return Tax(name="Tax", percent=Decimal(0), reverse_charge=True)
    if not bill.tax or bill.tax >= bill.total:
        return None
    percent = (HUNDRED * bill.tax / (bill.total - bill.tax)).quantize(CENT)
    return Tax(name="Tax", percent=percent, usd=Decimal(bill.tax) / 100)


def _tell_of_failure(agent: Agent, card: CardSubscription, bill: Bill, *, now: datetime) -> None:
    """The card was refused, or its bank wants its owner: the invoice's page is where both are mended."""
    if agent.desired == Desired.DELETED or card.canceled_at:
        return
    agent = lapses.settle(agent, now=now)
    term = standing.term(agent, now=now)
    stops_at = term.stops_at or (term.paid_till + standing.rules().grace if term.paid_till else None)
    mails.renewal_failed(agent, Provider.STRIPE, stops_at=stops_at, invoice_url=bill.page)
