"""Invoices from Stripe: each paid invoice buys one period, through the ledger. If a charge fails, the owner is told.

An invoice is handled in one transaction under the agent's lock. It may be reported several times: by a webhook, by the
list of events or by the daily check.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from agents.models import Agent, Desired
from billing import agent_terms, dunning, mails, next_plans, orders, payments
from billing.invoicing.taxes import HUNDRED, Tax
from billing.models import CardSubscription, NextPlan, Payment, StripeInvoice
from billing.payments import Receipt
from billing.providers.stripe import cards
from billing.providers.stripe.checkouts import CURRENCY, cents
from billing.providers.stripe.objects import InvoiceObject
from billing.subscriptions import Purchase
from billing.sums import CENT
from billing.vocabulary import OrderStatus, PaymentKind, Period, Provider

log = logging.getLogger(__name__)

MAX_CURRENCY = 12
PAID, OPEN = "paid", "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedPlan:
    """The plan that a charge pays for. `chosen` is the NextPlan row, if it is the next plan."""

    tier: str
    price_usd: Decimal
    tier_snapshot: dict[str, Any]
    chosen: NextPlan | None = None


@transaction.atomic
def take(bill: InvoiceObject, *, now: datetime) -> None:
    """Handle an invoice: count it if it is paid, note why it bought nothing, or tell the owner of a failed charge."""
    card = CardSubscription.objects.select_related("order").get(subscription_id=bill.subscription)
    agent = Agent.objects.lock(card.agent_id)
    card.refresh_from_db(
        fields=["canceled_at", "status", "tier", "price_usd", "tier_snapshot", "told_plans", "reprice_at"]
    )
    row, _ = StripeInvoice.objects.get_or_create(invoice_id=bill.id, defaults={"card": card, "seen_at": now})
    if row.payment_id is not None:
        return
    if bill.status == PAID and (bill.paid or bill.elsewhere):
        in_time = row.failed_at is None and bill.attempts <= 1
        row.payment, row.payment_intent = _pay(agent, card, bill, in_time=in_time, now=now), bill.payment_intent
        row.save(update_fields=["payment", "payment_intent"])
    elif bill.status == OPEN and bill.attempts and not bill.is_first and row.failed_at is None:
        StripeInvoice.objects.filter(pk=row.pk).update(failed_at=now)
        _tell_of_failure(agent, card, bill, now=now)


def _pay(agent: Agent, card: CardSubscription, bill: InvoiceObject, *, in_time: bool, now: datetime) -> Payment:
    orders.locked(card.order_id)
    card.order.refresh_from_db()
    is_first = card.order.status != OrderStatus.PAID
    plan = _own(card) if is_first else _plan_of(card, bill)
    receipt = _receipt(card, bill, plan, in_time=in_time)
    why = _why_not(card, bill, plan)
    if why:
        log.error("an invoice of Stripe buys nothing: %s", why, extra={"invoice": bill.id, "agent": agent.pk})
        paid = payments.write(receipt, agent, now=now, unapplied=why[:200])
    else:
        paid = payments.apply_payment(receipt, now=now)
    if paid.unapplied:
        orders.expire(orders.locked(card.order_id))  # nobody waits for this order any more: an operator decides
    else:
        cards.cancel(agent, now=now, but=card)
        _follow(agent, card, plan, is_first=is_first, now=now)
    return paid


def _plan_of(card: CardSubscription, bill: InvoiceObject) -> ChargedPlan:
    """The plan that the charged amount pays for: the chosen next plan, the present plan, or an earlier one.

    An invoice may be paid weeks after it was made, and the owner may have chosen another plan meanwhile.
    """
    plans = [_own(card), *(_told(one) for one in reversed(card.told_plans or []))]
    chosen = NextPlan.objects.filter(agent=card.agent_id, dropped_at=None).first()
    if chosen is not None:
        price = next_plans.price_of(chosen, Period(card.order.period))
        plans.insert(
            0, ChargedPlan(tier=chosen.tier, price_usd=price, tier_snapshot=chosen.tier_snapshot, chosen=chosen)
        )
    return next((plan for plan in plans if cents(plan.price_usd) == bill.total), _own(card))


def _own(card: CardSubscription) -> ChargedPlan:
    return ChargedPlan(tier=card.tier, price_usd=card.price_usd, tier_snapshot=card.tier_snapshot)


def _told(one: dict[str, Any]) -> ChargedPlan:
    return ChargedPlan(tier=one["tier"], price_usd=Decimal(one["priceUsd"]), tier_snapshot=one["tierSnapshot"])


def _follow(agent: Agent, card: CardSubscription, plan: ChargedPlan, *, is_first: bool, now: datetime) -> None:
    """Make the chosen plan the plan of the card, after the charge that paid for it.

    After a first charge, Stripe is told the price of the chosen plan. A dropped plan is deleted at the first charge
    after Stripe has the old price again.
    """
    if plan.chosen is not None:
        old = _own(card)
        next_plans.remember(card, tier=old.tier, price_usd=old.price_usd, tier_snapshot=old.tier_snapshot)
        card.tier, card.price_usd, card.tier_snapshot = plan.tier, plan.price_usd, plan.tier_snapshot
        card.save(update_fields=["tier", "price_usd", "tier_snapshot", "told_plans"])
        plan.chosen.delete()
    elif is_first:
        next_plans.tell_card(agent, now=now)
    elif card.reprice_at is None:
        NextPlan.objects.filter(agent=agent).exclude(dropped_at=None).delete()


def _why_not(card: CardSubscription, bill: InvoiceObject, plan: ChargedPlan) -> str:
    """Why the invoice buys nothing. Empty if it matches our own order."""
    asked = cents(plan.price_usd)
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


def _receipt(card: CardSubscription, bill: InvoiceObject, plan: ChargedPlan, *, in_time: bool) -> Receipt:
    """`in_time`: the first try to charge the card worked. Otherwise the period begins with the charge."""
    order = card.order
    first = order.status != OrderStatus.PAID
    return Receipt(
        provider=Provider.STRIPE,
        external_id=bill.id,
        kind=PaymentKind.PAYMENT if first else PaymentKind.RENEWAL,
        agent_id=card.agent_id,
        purchase=Purchase(
            provider=Provider.STRIPE,
            tier=plan.tier,
            period=Period(order.period),
            price_usd=plan.price_usd,
            tier_snapshot=plan.tier_snapshot,
            follows=in_time and not first,
        ),
        amount=bill.paid or None,
        currency=bill.currency[:MAX_CURRENCY],
        late=order.status == OrderStatus.EXPIRED,
        order_id=order.pk if first else None,
        actor=cards.ACTOR,
        tax=_tax(bill),
    )


def _tax(bill: InvoiceObject) -> Tax | None:
    """The tax that Stripe Tax found in the price. None if Stripe Tax is not used: then our own rates apply."""
    if bill.reverse_charge:
        return Tax(name="Tax", percent=Decimal(0), reverse_charge=True)
    if not bill.tax or bill.tax >= bill.total:
        return None
    percent = (HUNDRED * bill.tax / (bill.total - bill.tax)).quantize(CENT) if bill.percent is None else bill.percent
    return Tax(name="Tax", percent=percent, usd=Decimal(bill.tax) / 100)


def _tell_of_failure(agent: Agent, card: CardSubscription, bill: InvoiceObject, *, now: datetime) -> None:
    """Mail the owner that the card was refused, or that the bank asks for 3-D Secure.

    Both can be solved on the invoice's page.
    """
    if agent.desired == Desired.DELETED or card.canceled_at:
        return
    agent = dunning.settle(agent, now=now)
    term = agent_terms.term(agent, now=now)
    stops_at = term.stops_at or (term.paid_till + agent_terms.rules().grace if term.paid_till else None)
    mails.renewal_failed(agent, Provider.STRIPE, stops_at=stops_at, invoice_url=bill.page)
