"""What a period would cost and until when it would be paid. Only reads: nothing is locked or written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from agents.errors import NoSuchAgent
from agents.models import Agent, Desired
from billing import coupons, orders, periods, prices, subscriptions
from billing.errors import CouponRefused
from billing.models import Subscription
from billing.orders import Terms
from billing.providers import registry
from billing.subscriptions import Licence, Purchase
from billing.vocabulary import LICENSED, Period, Provider
from catalog.engines import check_tier, engine_of
from catalog.models import Tier
from catalog.tiers import known_tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    agent_id: str
    tier: str
    period: Period
    provider: Provider
    price_usd: Decimal
    paid_till: datetime
    converted: timedelta  # the part of the time until `paid_till` that comes from another plan's unused time
    tier_snapshot: dict[str, Any]


def quote(
    agent: Agent, *, tier: str | None, period: Period, provider: Provider, coupon: str = "", now: datetime
) -> Quote:
    """A quote for this purchase. The provider need not be set up.

    Raises what the purchase itself would raise: UnknownTier, EngineBelowMinTier, NothingToPay, CouponRefused,
    OtherPlanHeld, LicenceHeld, MoneySeen.
    """
    wanted = known_tier(tier or agent.tier)
    check_tier(engine_of(agent.engine), wanted)
    snapshot, price = prices.snapshot_of(wanted.id, period), _price(agent, wanted, period, provider, coupon, now=now)
    purchase = Purchase(
        provider=provider,
        tier=wanted.id,
        period=period,
        price_usd=price,
        tier_snapshot=snapshot,
        licence=_any_licence(period, now=now) if provider in LICENSED else None,
    )
    paid_till, converted = _paid_till(agent, purchase, coupon, now=now)
    return Quote(
        agent_id=agent.pk,
        tier=wanted.id,
        period=period,
        provider=provider,
        price_usd=price,
        paid_till=paid_till,
        converted=converted,
        tier_snapshot=snapshot,
    )


def _price(agent: Agent, tier: Tier, period: Period, provider: Provider, coupon: str, *, now: datetime) -> Decimal:
    """The price in USD. The provider sets the price of a licence. Not every provider takes coupons."""
    driver = registry.driver_of(provider)
    if coupon and not (driver and driver.takes_coupons):
        raise CouponRefused(f"{provider} has its own discounts, so coupons do not work there")
    return (
        prices.price_of(tier, period) if provider in LICENSED else coupons.price(agent, tier, period, coupon, now=now)
    )


def _any_licence(period: Period, *, now: datetime) -> Licence:
    till = periods.end_of(now, period, anchor_day=now.day)
    return Licence(key="", fingerprint="", external_ref="", till=till)


def _paid_till(agent: Agent, purchase: Purchase, coupon: str, *, now: datetime) -> tuple[datetime, timedelta]:
    if agent.desired == Desired.DELETED:
        raise NoSuchAgent
    if purchase.provider is not None and purchase.licence is None:
        orders.refuse_unplaceable(agent, Terms(purchase.provider, purchase.tier, purchase.period, coupon))
    if purchase.licence is not None:
        orders.refuse_beside_card(agent, purchase.tier)
    current = Subscription.objects.paid().filter(agent=agent).first()
    made = subscriptions.outcome(agent, purchase, current, now=now)
    return subscriptions.end_of(made.subscription, now=now), made.converted
