"""Pay for an agent on the web page: a plan, a period and a provider. Each provider has its own rule."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from agents.models import Agent
from billing import licences, orders, purchasing
from billing.models import Order, Payment, Subscription
from billing.models.subscriptions import LIVE
from billing.providers import registry
from billing.providers.base import ProviderOffer
from billing.vocabulary import CONFIRMED, LICENSED, OrderStatus, Period, Provider
from config.errors import BadRequest

# How long a finished payment is shown.
NEWS = timedelta(days=1)


class NoSuchWay(BadRequest):
    """Unknown provider, or one through which nobody can buy."""

    def __init__(self, came: str) -> None:
        super().__init__(f"provider: {came[:100]!r} is not one of {', '.join(registry.PACKAGES)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRenewal:
    tier: str
    period: Period
    provider: Provider
    coupon: str = ""


def renew(agent: Agent, wanted: WantedRenewal, *, license_key: str | None, actor: str, now: datetime) -> None:
    """Activate the licence, or place an order that can be paid. Doing the same again changes nothing.

    Raises what the provider's own rule raises.
    """
    if wanted.provider in LICENSED:
        key = purchasing.key_of(wanted.provider, license_key)
        licences.activate(agent, key, tier=wanted.tier, period=wanted.period, actor=actor, now=now)
        return
    driver = registry.driver_of(wanted.provider)
    if driver is None:
        raise NoSuchWay(wanted.provider)
    driver.order(agent, tier=wanted.tier, period=wanted.period, coupon=wanted.coupon, now=now)


def order_to_show(agent: Agent, *, now: datetime) -> Order | None:
    """The pending order. Otherwise the newest order, if it expired recently and nothing was paid since.

    The provider says what is recent.
    """
    newest = Order.objects.filter(agent=agent).order_by("-created_at", "-id").first()
    order = orders.pending_of(agent) or newest
    if order is None or order.status == OrderStatus.PENDING:
        return order
    if order.status == OrderStatus.PAID:
        return None
    driver = registry.driver_of(Provider(order.provider))
    told = driver.shown_for if driver else NEWS
    later = Payment.objects.filter(agent=agent, kind__in=CONFIRMED, at__gt=order.created_at)
    return None if order.expires_at <= now - told or later.exists() else order


def payment_to_show(agent: Agent, *, now: datetime) -> Payment | None:
    """The newest payment that bought something, for one day after it."""
    rows = Payment.objects.filter(agent=agent, kind__in=CONFIRMED, unapplied="", at__gt=now - NEWS)
    rows = rows.filter(subscription__status__in=LIVE)  # and was not sent back since
    return rows.select_related("subscription").order_by("-at", "-id").first()


def preferred(offers: list[ProviderOffer], *, licence: Subscription | None) -> Provider | None:
    """The provider that the page selects at first: the first one that is set up; beside a licence, one that sells no
    keys.
    """
    working = (offer.id for offer in offers if offer.active)
    return next((way for way in working if not (licence and way in LICENSED)), None)
