"""Orders with Pennies: a bill is opened, and paid or given up."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from agents.models import Agent
from billing import coupons, orders, payments, prices
from billing.errors import NotConfigured
from billing.models import Order
from billing.orders import Terms
from billing.payments import Receipt
from billing.subscriptions import Purchase
from billing.vocabulary import OrderStatus, Period, Provider
from catalog.engines import check_tier, engine_of
from catalog.tiers import tier_of
from config.ids import new_id
from tests.billing.providers.adding.pennies import service

ID = "pennies"
TTL = timedelta(hours=1)


def order(agent: Agent, *, tier: str | None, period: Period, coupon: str = "", now: datetime) -> Order:
    """The agent's pending order with these terms, with a bill that can be paid. Raises PenniesAway."""
    terms = Terms(Provider(ID), tier or agent.tier, period, coupon)
    check_tier(engine_of(agent.engine), tier_of(terms.tier))
    price = coupons.price(agent, tier_of(terms.tier), period, coupon, now=now)
    if not service.url():
        raise NotConfigured("provider", Provider(ID))
    pending = orders.pending_of(agent)
    if pending and terms.are_of(pending):
        return pending
    new = Order(
        id=new_id("pny"),
        user_id=agent.user_id,
        agent_id=agent.pk,
        provider=ID,
        tier=terms.tier,
        period=period,
        price_usd=price,
        tier_snapshot=prices.snapshot_of(terms.tier, period),
        created_at=now,
        expires_at=now + TTL,
    )
    service.open_bill(new.pk, cents=int(price * 100))
    return orders.place(agent, terms, make=lambda _: _stored(new), now=now)


def _stored(new: Order) -> Order:
    new.save(force_insert=True)
    return new


def bill_of(order: Order) -> str:
    return f"{service.url()}/bills/{order.pk}"


def look(order_id: str, *, now: datetime) -> bool:
    """Count the order's payment if there is one. It counts once. Raises PenniesAway."""
    wanted = Order.objects.filter(pk=order_id, provider=ID).first()
    if wanted is None or not service.is_paid(order_id):
        return False
    payments.apply_payment(_receipt(wanted), now=now)
    return True


def _receipt(order: Order) -> Receipt:
    return Receipt(
        provider=Provider(ID),
        external_id=order.pk,
        agent_id=order.agent_id,
        purchase=Purchase(
            provider=Provider(ID),
            tier=order.tier,
            period=Period(order.period),
            price_usd=order.price_usd,
            tier_snapshot=order.tier_snapshot,
        ),
        amount=int(order.price_usd * 100),
        currency="usd",
        order_id=order.pk,
        actor=ID,
    )


def expire_due(*, now: datetime) -> None:
    """Expire orders that nobody paid in time, after asking Pennies."""
    for order in Order.objects.filter(provider=ID, status=OrderStatus.PENDING, expires_at__lte=now):
        if not look(order.pk, now=now):
            with transaction.atomic():
                orders.expire(orders.locked(order.pk))
