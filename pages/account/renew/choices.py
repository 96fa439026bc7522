"""The choices on /renew/{id}: plans and periods with their prices, and ways to pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext, gettext_noop

from agents.models import Agent
from billing import coupons, prices, renewal, subscriptions
from billing.errors import LicenceRefused
from billing.models import Subscription
from billing.providers import registry
from billing.providers.base import ProviderOffer
from billing.providers.page import page_of
from billing.renewal import WantedRenewal
from billing.vocabulary import LICENSED, Period, Provider
from catalog import tiers
from catalog.engines import EngineBelowMinTier, check_tier, engine_of
from catalog.models import Tier
from pages import words
from pages.account.names import plan_name, way_name
from pages.account.renew import refusals
from pages.words import PlanText

YEAR = 12
LONGEST_KEY = 200
LONGEST_COUPON = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChoice:
    id: str
    plan: PlanText
    saving: str  # how much a year is cheaper than twelve months; empty if it is not
    why_not: str  # why it cannot be bought; empty if it can


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    id: Provider
    name: str
    about: str
    why_not: str  # why it cannot be used; empty if it can


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The choice from the form, or the default choice. `problems` are by field."""

    tier: str
    period: Period
    provider: Provider | None
    coupon: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def wanted(self) -> WantedRenewal | None:
        if self.problems or self.provider is None:
            return None
        return WantedRenewal(tier=self.tier, period=self.period, provider=self.provider, coupon=self.coupon)


def read(agent: Agent, given: Mapping[str, str]) -> Chosen:
    """Read the choice. Defaults: the agent's own plan, one month, the first provider that works.

    Unknown values also fall back to these defaults.
    """
    tier, period, provider = given.get("tier"), given.get("period"), given.get("provider")
    plans, periods, ways = [one.id for one in tiers.offered()], set(Period.values), set(map(str, registry.PACKAGES))
    licence = subscriptions.licence_of(agent)
    paid = licence.tier if licence else agent.tier
    own = paid if paid in plans else plans[0]
    problems = {}
    if tier is not None and tier not in plans:
        problems["tier"] = gettext("There is no such plan. Choose one of these.")
    if period is not None and period not in periods:
        problems["period"] = gettext("Choose a month or a year.")
    if provider is not None and provider not in ways:
        problems["provider"] = gettext("There is no such way to pay. Choose one of these.")
    return Chosen(
        tier=tier if tier in plans else own,
        period=Period(period) if period in periods else Period.MONTHLY,
        provider=Provider(provider) if provider in ways else renewal.preferred(registry.offers(), licence=licence),
        coupon=coupons.code_of(given.get("coupon"))[:LONGEST_COUPON],
        problems=problems,
    )


def refuse_unreadable(wanted: WantedRenewal, key: str) -> None:
    """Refuse a text that no seller would give out as a key. Raises LicenceRefused."""
    if wanted.provider in LICENSED and (len(key) > LONGEST_KEY or not key.strip().isprintable()):
        raise LicenceRefused(gettext_noop("this key is too long, or has characters that no key has"))


def plans(agent: Agent) -> list[PlanChoice]:
    licence = subscriptions.licence_of(agent)
    return [_plan(tier, agent, licence) for tier in tiers.offered()]


def _plan(tier: Tier, agent: Agent, licence: Subscription | None) -> PlanChoice:
    month, year = (prices.price_of(tier, period) for period in (Period.MONTHLY, Period.ANNUAL))
    less = month * YEAR - year
    saving = gettext("A year is %(sum)s less than twelve months.") % {"sum": words.usd(less)} if less > 0 else ""
    why_not = _too_small(tier, agent) or (refusals.other_plan(licence) if licence and licence.tier != tier.id else "")
    return PlanChoice(id=tier.id, plan=words.plan(tier), saving=saving, why_not=why_not)


def _too_small(tier: Tier, agent: Agent) -> str:
    engine = engine_of(agent.engine)
    try:
        check_tier(engine, tier)
    except EngineBelowMinTier:
        return gettext("Too small: %(engine)s needs %(plan)s.") % {
            "engine": engine.label,
            "plan": plan_name(engine.min_tier),
        }
    return ""


def ways(agent: Agent) -> list[Way]:
    licence = subscriptions.licence_of(agent)
    return [_way(agent, offer, licence) for offer in registry.offers()]


def _way(agent: Agent, offer: ProviderOffer, licence: Subscription | None) -> Way:
    page = page_of(offer.id)
    about = page.about(agent) if page else ""
    why_not = "" if offer.active else gettext("Coming soon: it is not set up here yet.")
    if licence and offer.id == licence.provider:
        about = gettext("It already pays for this agent. Choose it to enter a new key of the same licence.")
    elif licence and offer.id in LICENSED:
        why_not = refusals.second_licence(licence)
    return Way(id=offer.id, name=way_name(offer.id), about=about, why_not=why_not)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """Where keys are sold. `buy_url` is empty if the operator has set none.

    `sells` is False if a licence of this provider already pays: then only a new key of the same licence is accepted.
    """

    name: str
    buy_url: str
    sells: bool


def shop(agent: Agent, wanted: WantedRenewal) -> Shop | None:
    """The shop for this choice. None if it needs no key, or if no key would be accepted."""
    offer, licence = registry.offer_of(wanted.provider), subscriptions.licence_of(agent)
    if wanted.provider not in LICENSED or not offer.active or (licence and licence.provider != wanted.provider):
        return None
    buy_url = offer.buy_urls.get(wanted.tier) or offer.buy_url or ""
    return Shop(name=registry.name_of(wanted.provider), buy_url=buy_url, sells=licence is None)
