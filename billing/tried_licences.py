"""`?dryRun=true` of a licence key: what it would pay for. Its seller is not asked, so our own rows must answer."""

from __future__ import annotations

from datetime import datetime

from agents.models import Agent
from billing import orders, periods, prices, subscriptions
from billing.errors import OtherPlanPaid
from billing.models import Subscription
from billing.subscriptions import Licence, Purchase
from billing.vocabulary import Period, Provider
from catalog.engines import check_tier, engine_of
from catalog.tiers import known_tier

UNASKED = "licenseKey (its seller)"


def subscription_by(
    agent: Agent,
    provider: Provider,
    text: str,
    fingerprint: str,
    *,
    tier: str | None,
    period: Period | None,
    now: datetime,
) -> Subscription:
    """The subscription that this key would make, if it pays for the wanted plan until a period from now. Not saved.

    Without a wanted plan it is the agent's own tier, by the month. A key that pays for the agent already changes
    nothing. Raises OtherPlanPaid, OtherPlanByCard, EngineBelowMinTier, LicenceHeld.
    """
    held = subscriptions.licence_of(agent)
    if held is not None and (held.provider, held.license_fingerprint) == (provider, fingerprint):
        return _as_it_is(held, tier=tier, period=period)
    wanted, period = known_tier(tier or agent.tier), period or Period.MONTHLY
    check_tier(engine_of(agent.engine), wanted)
    orders.refuse_beside_card(agent, wanted.id)
    till = periods.end_of(now, period, anchor_day=now.day)
    purchase = Purchase(
        provider=provider,
        tier=wanted.id,
        period=period,
        price_usd=prices.price_of(wanted, period),
        tier_snapshot=prices.snapshot_of(wanted.id, period),
        licence=Licence(key=text, fingerprint=fingerprint, external_ref="", till=till),
    )
    current = Subscription.objects.paid().filter(agent=agent).first()
    return subscriptions.outcome(agent, purchase, current, now=now).subscription


def _as_it_is(held: Subscription, *, tier: str | None, period: Period | None) -> Subscription:
    if tier is not None and tier != held.tier:
        raise OtherPlanPaid("tier", tier, held.tier)
    if period is not None and period != held.period:
        raise OtherPlanPaid("period", period, held.period)
    return held
