"""What a choice would cost: the price, the amount in the coin, the end of the paid time, the rest of another plan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from agents import quota
from agents.models import Agent
from billing import quotes
from billing.crypto import orders as crypto_orders
from billing.errors import NotConfigured
from billing.providers import registry
from billing.quotes import Quote
from billing.renewal import WantedRenewal
from billing.stars import orders as stars_orders
from billing.sums import exact
from billing.vocabulary import Asset, Period, Provider
from catalog.tiers import tier_of
from pages.account import words
from pages.account.names import plan_name, span, way_name
from pages.words import usd

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """`change` is larger, smaller or empty. `remainder` is the time that the rest of another plan becomes, if any."""

    wanted: WantedRenewal
    plan: str
    now_plan: str
    yearly: bool
    provider: str
    price: str
    coins: str  # the price in the chosen coin; empty for cards and stars
    coin: str
    stars: int | None
    paid_till: str
    remainder: timedelta | None
    change: str

    @property
    def remainder_words(self) -> str:
        return span(self.remainder or timedelta(0))


def bill(agent: Agent, wanted: WantedRenewal, *, now: datetime) -> Bill:
    """The costs of this choice. Raises NotConfigured, and the errors of quotes.quote."""
    if not registry.offer_of(wanted.provider).active:
        raise NotConfigured("provider", wanted.provider)
    quote = quotes.quote(
        agent,
        tier=wanted.tier,
        period=wanted.period,
        provider=wanted.provider,
        coupon=wanted.coupon,
        now=now,
    )
    coins, coin = _in_coins(quote)
    return Bill(
        wanted=wanted,
        plan=plan_name(wanted.tier),
        now_plan=plan_name(agent.tier),
        yearly=wanted.period == Period.ANNUAL,
        provider=way_name(wanted.provider),
        price=usd(quote.price_usd),
        coins=coins,
        coin=coin,
        stars=_in_stars(quote) if wanted.provider == Provider.STARS else None,
        paid_till=words.moment(quote.paid_till),
        remainder=quote.converted if quote.converted >= SECOND else None,
        change=_change(agent, wanted.tier),
    )


def _in_coins(quote: Quote) -> tuple[str, str]:
    if quote.provider not in Asset.values:
        return "", ""
    _, token = crypto_orders.offered(Asset(quote.provider))
    return exact(crypto_orders.in_units(quote.price_usd, token.decimals), token.decimals), token.symbol


def _in_stars(quote: Quote) -> int:
    return stars_orders.in_stars(quote.price_usd, settings.STAR_USD)


def _change(agent: Agent, tier_id: str) -> str:
    if tier_id == agent.tier:
        return ""
    return "larger" if quota.is_larger(tier_of(tier_id), than=tier_of(agent.tier)) else "smaller"
