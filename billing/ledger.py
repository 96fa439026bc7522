"""The ledger, as the owner of an account sees it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from accounts.models import User
from agents.models import Agent
from billing.models import Payment
from billing.vocabulary import CONFIRMED
from config.errors import BadRequest, NotFound
from config.ids import is_id

ON_A_PAGE = 20


@dataclass(frozen=True, slots=True)
class PaymentPage:
    payments: list[Payment]
    cursor: str | None  # where the next page starts


class BadLedgerCursor(BadRequest):
    message = "payments: this list has no such page"


class NoSuchPayment(NotFound):
    message = "id: you have no such payment"


def page(agent: Agent, *, after: str | None = None, limit: int = ON_A_PAGE) -> PaymentPage:
    """The payments of the agent, newest first, each with its order, invoice and decision. Raises BadCursor."""
    return _page(Payment.objects.filter(agent=agent), after=after, limit=limit)


def of(user: User, *, after: str | None = None, limit: int = ON_A_PAGE) -> PaymentPage:
    """The payments of all agents of an account, deleted agents too. Raises BadCursor."""
    return _page(Payment.objects.filter(user=user).select_related("agent"), after=after, limit=limit)


def own(user: User, payment_id: str) -> Payment:
    """The payment with this id, if it belongs to the account. Raises NoSuchPayment."""
    rows = Payment.objects.filter(user=user).select_related("agent", "invoice", "order__cryptoorder", "decision")
    found = rows.filter(pk=payment_id).first() if is_id("pay", payment_id) else None
    if found is None:
        raise NoSuchPayment
    return found


def has_receipt(payment: Payment) -> bool:
    """Whether this is a payment that came in, and therefore has a receipt."""
    return payment.kind in CONFIRMED and bool(payment.amount or payment.price_usd)


def _page(rows: QuerySet[Payment], *, after: str | None, limit: int) -> PaymentPage:
    rows = rows.select_related("order__cryptoorder", "decision", "invoice")
    if after is not None:
        last = rows.filter(pk=after).first() if is_id("pay", after) else None
        if last is None:
            raise BadLedgerCursor
        rows = rows.filter(Q(at__lt=last.at) | Q(at=last.at, pk__lt=last.pk))
    found = list(rows.order_by("-at", "-id")[: limit + 1])
    return PaymentPage(found[:limit], found[limit - 1].pk if len(found) > limit else None)
