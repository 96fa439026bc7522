"""STATE MACHINE of an order: pending, paid, expired. Late money may still pay an order that has expired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypeVar

from django.db import transaction

from accounts.models import ApiKey
from agents.errors import NoSuchAgent
from agents.models import Agent, Desired
from billing import coupons, prices, spending, subscriptions
from billing.errors import AlreadyPaid, CardRenews, MoneySeen, OrderMeanwhile, OtherPlanByCard, OtherPlanHeld
from billing.models import CardSubscription, Order
from billing.providers import registry
from billing.vocabulary import OrderStatus, Period, Provider
from config import dry_run, states
from config.ids import new_id

NewOrder = TypeVar("NewOrder", bound=Order)

# What a dry run of an order leaves out.
PAYMENT_UNASKED, PENDING_UNASKED = "payment (its provider)", "pending order (its provider)"

PENDING, PAID, EXPIRED = OrderStatus.PENDING, OrderStatus.PAID, OrderStatus.EXPIRED

TRANSITIONS: dict[OrderStatus, set[OrderStatus]] = {PENDING: {PAID, EXPIRED}, EXPIRED: {PAID}, PAID: set()}


@dataclass(frozen=True, slots=True)
class Terms:
    """The provider, plan, period and coupon of an order."""

    provider: Provider
    tier: str
    period: Period
    coupon: str = ""  # the coupon's code

    def are_of(self, order: Order) -> bool:
        same = (order.provider, order.tier, order.period) == (self.provider, self.tier, self.period)
        return same and (order.coupon_id or "") == self.coupon


def place(
    agent: Agent, terms: Terms, *, make: Callable[[Agent], Order], key: ApiKey | None = None, now: datetime
) -> Order:
    """The agent's pending order with these terms, or a new order that replaces a pending one with other terms.

    `key` is the limited API key that asks, if one does. `make` builds the new row in the transaction, with the agent
    locked. Before that, the provider is asked whether money for the pending order is on its way; under the lock only
    our own rows are read again.
    Raises MoneySeen when money is on its way, NoSuchAgent, CouponRefused, OverSpendLimit, and the errors of
    `refuse_held`.
    """
    other = pending_of(agent)
    if other is not None and not terms.are_of(other) and _money_seen(other):
        raise MoneySeen(other)
    with transaction.atomic():
        agent = Agent.objects.lock(agent.pk)
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
        if key is not None:
            spending.count(made, key=key, now=now)
        return made


def new(
    model: type[NewOrder], agent: Agent, terms: Terms, *, ids: str, price: Decimal, lasts: timedelta, now: datetime
) -> NewOrder:
    """A new order of a provider's table, not saved yet. `ids` is the prefix of its id."""
    return model(
        id=new_id(ids),
        user_id=agent.user_id,
        agent_id=agent.pk,
        provider=terms.provider,
        tier=terms.tier,
        period=terms.period,
        price_usd=price,
        tier_snapshot=prices.snapshot_of(terms.tier, terms.period),
        created_at=now,
        expires_at=now + lasts,
    )


def stored(made: NewOrder | None) -> NewOrder:
    """Save a new order. None means that a pending order with the same terms was there, and that it has just ended.

    Raises OrderMeanwhile for None.
    """
    if made is None:
        raise OrderMeanwhile
    made.save(force_insert=True)
    return made


def _give_up(current: Order, *, asked: Order | None) -> None:
    """Expire the current order, unless money for it is now known or it is an order that was not asked about.

    `asked` is the order that its provider was asked about. A different one was placed in parallel a moment ago.
    """
    if asked is None or asked.pk != current.pk or _money_noted(current):
        raise MoneySeen(current)
    expire(current)


def _money_seen(other: Order) -> bool:
    """Whether money may be on its way, according to the provider. Yes, if the provider is no longer set up.

    A dry run does not ask the provider, which may close what could be paid: our own rows answer.
    """
    if dry_run.skips(PENDING_UNASKED):
        return _money_noted(other)
    driver = registry.driver_of(Provider(other.provider))
    return driver.money_seen(other) if driver else True


def _money_noted(other: Order) -> bool:
    driver = registry.driver_of(Provider(other.provider))
    return driver.money_noted(other) if driver else True


def pending_of(agent: Agent) -> Order | None:
    return Order.objects.filter(agent=agent, status=PENDING).first()


def refuse_unplaceable(agent: Agent, terms: Terms) -> None:
    """Raise the errors that `place` would raise, as far as our own rows show them:

    MoneySeen and those of `refuse_held`.
    """
    refuse_held(agent, terms)
    current = pending_of(agent)
    if current is not None and not terms.are_of(current) and _money_noted(current):
        raise MoneySeen(current)


def refuse_held(agent: Agent, terms: Terms) -> None:
    """Refuse another plan while a licence or a renewing card pays for one. A new order by card may replace the card's
    plan.

    Raises OtherPlanHeld, OtherPlanByCard, CardRenews.
    """
    held = subscriptions.licence_of(agent)
    if held is not None and held.tier != terms.tier:
        raise OtherPlanHeld(held)
    driver = registry.driver_of(terms.provider)
    if not (driver and driver.by_card):
        return refuse_beside_card(agent, terms.tier)
    same = CardSubscription.objects.renewing().filter(agent=agent, tier=terms.tier, order__period=terms.period)
    if card := same.select_related("order").first():
        raise CardRenews(card)
    return None


def refuse_beside_card(agent: Agent, tier: str) -> None:
    """Refuse another plan beside a card that renews, since that card goes on paying for its plan.

    Raises OtherPlanByCard.
    """
    card = CardSubscription.objects.renewing().filter(agent=agent).exclude(tier=tier).select_related("order").first()
    if card is not None:
        raise OtherPlanByCard(card)


def locked(order_id: str) -> Order:
    """The order's row, locked. To avoid deadlocks, lock the agent's row first, then the order's."""
    return Order.objects.select_for_update().get(pk=order_id)


def pay(order: Order, *, now: datetime) -> Order:
    """Mark the order as paid. Each order is paid only once. Raises AlreadyPaid."""
    if order.status == PAID:
        raise AlreadyPaid(order)
    order.paid_at = now
    return _move(order, PAID)


def expire(order: Order) -> Order:
    """Expire a pending order: nobody paid in time, or another order replaces it.

    An order in another state stays as it is.
    """
    return _move(order, EXPIRED) if order.status == PENDING else order


def _move(order: Order, to: OrderStatus) -> Order:
    """The only place that assigns a status. The caller holds the lock of the row."""
    states.check(TRANSITIONS, OrderStatus(order.status), to, of=order.pk)
    order.status = to
    order.save(update_fields=["status", "paid_at"])
    return order
