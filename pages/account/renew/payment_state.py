"""The present state of an agent's payments: its term, a payment that was just made, and the pending order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agents.models import Agent
from billing import agent_terms, renewal
from billing.models import CardSubscription, Payment, Subscription
from billing.providers.page import ShownOrder, page_of
from billing.term import Term
from billing.vocabulary import LICENSED, OrderStatus, SubscriptionStatus
from pages.account import words
from pages.account.names import plan_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    payment: Payment
    arrived: str
    over: str  # with its coin; empty if nothing was overpaid
    transaction: str


def context(agent: Agent, *, now: datetime) -> dict[str, Any]:
    term, order = agent_terms.term(agent, now=now), renewal.order_to_show(agent, now=now)
    payment = renewal.payment_to_show(agent, now=now)
    if payment and order and payment.at < order.created_at:
        payment = None
    page = page_of(order.provider) if order else None
    waits = page.order(order, now=now) if page and order else None
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
    if term.paid_provider not in LICENSED:
        cards = CardSubscription.objects.renewing().filter(agent=agent, order__provider=term.paid_provider)
        return term.paid_provider is not None and cards.exists()
    return Subscription.objects.filter(
        agent=agent, provider=term.paid_provider, status=SubscriptionStatus.ACTIVE
    ).exists()


def _paid(payment: Payment, term: Term) -> Paid:
    page, till = page_of(payment.provider), words.moment(term.paid_till or payment.paid_till or payment.at)
    return Paid(
        payment=payment,
        arrived=page.arrived(plan=plan_name(payment.tier), till=till) if page else "",
        over=page.over(payment) if page else "",
        transaction=page.transaction(payment) if page else "",
    )


def _state(waits: ShownOrder | None, payment: Payment | None) -> str:
    """A text that changes whenever more than the progress part of the page has changed."""
    if waits is None:
        return f"paid {payment.pk}" if payment else "quiet"
    return " ".join([waits.state, waits.order.pk, waits.missing, "overdue" if waits.overdue else ""]).strip()
