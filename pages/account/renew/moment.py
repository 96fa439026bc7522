"""The present state of an agent's payments: its term, a payment that was just made, and the pending order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agents.models import Agent
from billing import renewal, standing
from billing.models import CardSubscription, CryptoOrder, Payment, Subscription
from billing.sums import exact
from billing.term import Term
from billing.vocabulary import LICENSED, Asset, OrderStatus, Provider, SubscriptionStatus
from pages.account import words
from pages.account.names import plan_name, way_name
from pages.account.renew import ordered
from pages.account.renew.ordered import CardOrderView, CryptoOrderView, StarsOrderView


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """A recent payment."""

    payment: Payment
    plan: str
    provider: str
    till: str
    over: str  # with its coin; empty if nothing was overpaid
    tx_hash: str


def context(agent: Agent, *, now: datetime) -> dict[str, Any]:
    term, order = standing.term(agent, now=now), renewal.order_to_show(agent, now=now)
    payment = renewal.payment_to_show(agent, now=now)
    if payment and order and payment.at < order.created_at:
        payment = None
    waits = ordered.read(order, now=now) if order else None
    return {
        "agent": agent,
        "plan": plan_name(agent.tier),
        "headline": words.headline(term, now=now),
        "consequence": words.consequence(term, now=now),
        "paid_with": words.paid_with(term),
        "renews": _renews(agent, term),
        "card": CardSubscription.objects.charged(agent).exists(),
        "paid": _paid(payment, term) if payment else None,
        "waits": waits,
        "live": bool(order and order.status == OrderStatus.PENDING),
        "state": _state(waits, payment),
    }


def _renews(agent: Agent, term: Term) -> bool:
    """Whether the provider of a licence or a card will charge again."""
    if term.paid_provider == Provider.STRIPE:
        return CardSubscription.objects.renewing().filter(agent=agent).exists()
    if term.paid_provider not in LICENSED:
        return False
    return Subscription.objects.filter(
        agent=agent, provider=term.paid_provider, status=SubscriptionStatus.ACTIVE
    ).exists()


def _paid(payment: Payment, term: Term) -> Paid:
    over, tx_hash = "", ""
    if payment.currency in Asset.values and payment.order_id:
        order = CryptoOrder.objects.get(pk=payment.order_id)
        tx_hash = order.tx_hash or ""
        over = f"{exact(payment.over, order.decimals)} {payment.currency.upper()}" if payment.over else ""
    return Paid(
        payment=payment,
        plan=plan_name(payment.tier),
        provider=way_name(payment.provider),
        till=words.moment(term.paid_till or payment.paid_till or payment.at),
        over=over,
        tx_hash=tx_hash,
    )


def _state(waits: CryptoOrderView | StarsOrderView | CardOrderView | None, payment: Payment | None) -> str:
    """A text that changes whenever more than the progress part of the page has changed."""
    if waits is None:
        return f"paid {payment.pk}" if payment else "quiet"
    part = waits.missing if isinstance(waits, CryptoOrderView) else ""
    return " ".join([waits.state, waits.order.pk, part, "overdue" if waits.overdue else ""]).strip()
