"""What a choice would cost: the price, the amount in the coin, the end of the paid time, the rest of another plan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from agents.models import Agent
from agents.watching import quota
from billing import quotes
from billing.errors import NotConfigured
from billing.providers import registry
from billing.providers.page import page_of
from billing.renewal import WantedRenewal
from billing.vocabulary import Period
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
    to_pay: str  # the price in the chosen coin or in stars; empty for cards
    next_step: str  # the text of the button
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
    page = page_of(wanted.provider)
    return Bill(
        wanted=wanted,
        plan=plan_name(wanted.tier),
        now_plan=plan_name(agent.tier),
        yearly=wanted.period == Period.ANNUAL,
        provider=way_name(wanted.provider),
        price=usd(quote.price_usd),
        to_pay=page.to_pay(quote.price_usd) if page else "",
        next_step=page.next_step if page else "",
        paid_till=words.moment(quote.paid_till),
        remainder=quote.converted if quote.converted >= SECOND else None,
        change=_change(agent, wanted.tier),
    )


def _change(agent: Agent, tier_id: str) -> str:
    if tier_id == agent.tier:
        return ""
    return "larger" if quota.is_larger(tier_of(tier_id), than=tier_of(agent.tier)) else "smaller"
