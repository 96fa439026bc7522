"""How much a coupon takes off an order, and whether it may be used.

Each pending or paid order with the coupon is one use. An order that expires unpaid frees its use; it can be paid late
only while a use is left. Uses are counted under the lock of the coupon's row, so parallel orders never use a coupon too
often.
"""

from __future__ import annotations

import re
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

from django.db.models import Q, QuerySet

from accounts import throttling
from accounts.throttling import Limit
from agents.models import Agent
from billing import prices
from billing.errors import CouponRefused
from billing.models import Coupon, Order
from billing.models.coupons import CODE
from billing.vocabulary import OrderStatus, Period
from catalog.models import Tier

GUESSES = Limit(name="coupon-guess", times=20, seconds=3600)  # per account
CENT = Decimal("0.01")
UNKNOWN = "there is no coupon with this code that can be used now"
OTHER = "it is for another plan or period"
USED_UP = "it has been used as often as it may be"


def code_of(typed: str | None) -> str:
    """The code as it is stored: without spaces around it, in upper case. Empty if there is none."""
    return (typed or "").strip().upper()


def price(agent: Agent, tier: Tier, period: Period, code: str, *, now: datetime) -> Decimal:
    """The price of an order in USD, less the coupon if there is one.

    Raises NothingToPay, CouponRefused, and RateLimited for an account that tries too many wrong codes.
    """
    listed = prices.payable(tier, period)
    if not code:
        return listed
    coupon = _known(code, now=now)
    if coupon is None:
        throttling.spend(GUESSES, by=agent.user_id, now=now)
        raise CouponRefused(UNKNOWN)
    if coupon.tier not in {"", tier.id} or coupon.period not in {"", period}:
        raise CouponRefused(OTHER)
    # The agent's pending order does not count: the new order replaces it.
    if _is_used_up(coupon, agent.user_id, _uses(coupon).exclude(agent=agent, status=OrderStatus.PENDING)):
        raise CouponRefused(USED_UP)
    return _less(listed, coupon)


def hold(agent: Agent, code: str, *, now: datetime) -> Coupon | None:
    """The coupon for a new order, locked until the order's transaction ends. Raises CouponRefused."""
    if not code:
        return None
    Coupon.objects.select_for_update().filter(pk=code).first()
    coupon = _known(code, now=now)
    if coupon is None:
        raise CouponRefused(UNKNOWN)
    if _is_used_up(coupon, agent.user_id, _uses(coupon)):
        raise CouponRefused(USED_UP)
    return coupon


def is_left_for(order: Order) -> bool:
    """Whether an expired order may still be paid at its price. Call this in the transaction of the payment."""
    if order.coupon_id is None:
        return True
    coupon = Coupon.objects.select_for_update().get(pk=order.coupon_id)
    return not _is_used_up(coupon, order.user_id, _uses(coupon).exclude(pk=order.pk))


def _known(code: str, *, now: datetime) -> Coupon | None:
    if not re.fullmatch(CODE, code):
        return None
    begun = Q(valid_from=None) | Q(valid_from__lte=now)
    lasts = Q(valid_until=None) | Q(valid_until__gt=now)
    return Coupon.objects.filter(begun, lasts, pk=code).first()


def _uses(coupon: Coupon) -> QuerySet[Order]:
    return Order.objects.filter(coupon=coupon, status__in=[OrderStatus.PENDING, OrderStatus.PAID])


def _is_used_up(coupon: Coupon, user_id: str, uses: QuerySet[Order]) -> bool:
    in_all = coupon.uses is not None and uses[: coupon.uses].count() >= coupon.uses
    return in_all or uses.filter(user=user_id).count() >= coupon.uses_of_account


def _less(listed: Decimal, coupon: Coupon) -> Decimal:
    """The price less the coupon, in whole cents and at least one cent: an order that costs nothing cannot be paid."""
    off = listed * coupon.percent / 100 if coupon.percent is not None else coupon.usd or Decimal(0)
    return max(CENT, (listed - off).quantize(CENT, ROUND_HALF_UP))
