"""STATE MACHINE of an order: pending, paid, expired. Late money may still pay what has expired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from agents.errors import NoSuchAgent
from agents.models import Agent, Desired
from billing import coupons, subscriptions
from billing.errors import AlreadyPaid, CardRenews, IllegalMove, MoneySeen, OtherPlanByCard, OtherPlanHeld
from billing.models import CardSubscription, Order
from billing.providers import registry
from billing.vocabulary import OrderStatus, Period, Provider

PENDING, PAID, EXPIRED = OrderStatus.PENDING, OrderStatus.PAID, OrderStatus.EXPIRED

MOVES: dict[OrderStatus, set[OrderStatus]] = {PENDING: {PAID, EXPIRED}, EXPIRED: {PAID}, PAID: set()}


@dataclass(frozen=True, slots=True)
class Terms:
    """What an order is for."""

    provider: Provider
    tier: str
    period: Period
    coupon: str = ""  # its code

    def are_of(self, order: Order) -> bool:
        same = (order.provider, order.tier, order.period) == (self.provider, self.tier, self.period)
        return same and (order.coupon_id or "") == self.coupon


def place(agent: Agent, terms: Terms, *, make: Callable[[Agent], Order], now: datetime) -> Order:
    """The agent's pending order on these terms: the one there is, or a new one in place of another (design: Billing).

    `make` builds the new row, in the transaction, with the agent locked; the outside is asked for the other order's
    money before that, and our own rows once more under the lock. Raises MoneySeen when it is on its way, NoSuchAgent,
    CouponRefused, and what `refuse_held` raises.
    """
    other = pending_of(agent)
    if other is not None and not terms.are_of(other) and _money_seen(other):
        raise MoneySeen(other)
    with transaction.atomic():
        agent = Agent.objects.select_for_update().get(pk=agent.pk)
        if agent.desired == Desired.DELETED:
            raise NoSuchAgent
        refuse_held(agent, terms)
        current = Order.objects.select_for_update().filter(agent=agent, status=PENDING).first()
        if current is not None and terms.are_of(current):
            return current
        if current is not None:
            _give_up(current, asked=other)
        coupon = coupons.hold(agent, terms.coupon, now=now)
        made = make(agent)
        if coupon is not None:
            made.coupon = coupon
            made.save(update_fields=["coupon"])
        return made


def _give_up(current: Order, *, asked: Order | None) -> None:
    """Unless its money has come to be known meanwhile, or nobody asked about it: somebody else has just ordered."""
    if asked is None or asked.pk != current.pk or _money_noted(current):
        raise MoneySeen(current)
    expire(current)


def _money_seen(other: Order) -> bool:
    """As its provider's driver knows; what has none any more may be paid."""
    driver = registry.driver_of(Provider(other.provider))
    return driver.money_seen(other) if driver else True


def _money_noted(other: Order) -> bool:
    driver = registry.driver_of(Provider(other.provider))
    return driver.money_noted(other) if driver else True


def pending_of(agent: Agent) -> Order | None:
    return Order.objects.filter(agent=agent, status=PENDING).first()


def refuse_unplaceable(agent: Agent, terms: Terms) -> None:
    """What `place` would refuse, as far as our own rows tell. Raises MoneySeen, and what `refuse_held` raises."""
    refuse_held(agent, terms)
    current = pending_of(agent)
    if current is not None and not terms.are_of(current) and _money_noted(current):
        raise MoneySeen(current)


def refuse_held(agent: Agent, terms: Terms) -> None:
    """A licence, or a card that is charged for each period, holds its plan. Another plan by card replaces the card's.

    Raises OtherPlanHeld, OtherPlanByCard, CardRenews.
    """
    held = subscriptions.licence_of(agent)
    if held is not None and held.tier != terms.tier:
        raise OtherPlanHeld(held)
    if terms.provider != Provider.STRIPE:
        return refuse_beside_card(agent, terms.tier)
    same = CardSubscription.objects.renewing().filter(agent=agent, tier=terms.tier, order__period=terms.period)
    if card := same.select_related("order").first():
        raise CardRenews(card)
    return None


def refuse_beside_card(agent: Agent, tier: str) -> None:
    """A card that renews goes on paying for its plan: no other one beside it. Raises OtherPlanByCard."""
    card = CardSubscription.objects.renewing().filter(agent=agent).exclude(tier=tier).select_related("order").first()
    if card is not None:
        raise OtherPlanByCard(card)


def locked(order_id: str) -> Order:
    """The order's row, after the agent's (facts: billing 6, lock order)."""
    return Order.objects.select_for_update().get(pk=order_id)


def pay(order: Order, *, now: datetime) -> Order:
    """Raises AlreadyPaid: each payment pays one order, each order is paid once."""
    if order.status == PAID:
        raise AlreadyPaid(order)
    order.paid_at = now
    return _move(order, PAID)


def expire(order: Order) -> Order:
    """Given up: nobody paid in time, or another order takes its place. What has ended stays as it is."""
    return _move(order, EXPIRED) if order.status == PENDING else order


def _move(order: Order, to: OrderStatus) -> Order:
    """The only place that assigns a status; the caller holds the row's lock."""
    if to not in MOVES[OrderStatus(order.status)]:
        raise IllegalMove(f"{order.pk}: {order.status} to {to}")
    order.status = to
    order.save(update_fields=["status", "paid_at"])
    return order
