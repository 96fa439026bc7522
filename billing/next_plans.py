"""A smaller plan from the end of the paid time on: an owner chooses it or drops it, and later it takes effect.

If a card renews the plan, Stripe is told to charge the smaller price from the next period on, and that charge brings
the plan (billing/providers/stripe/). If nothing renews, the agent has the smaller plan as soon as its paid time is
over.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts import throttling
from accounts.models import User
from accounts.throttling import Limit
from agents import timeline
from agents.configuring import profile
from agents.models import Agent, Reason
from agents.watching import quota
from billing import agent_terms, prices, term
from billing.errors import NothingAfter, NotSmaller
from billing.models import CardSubscription, NextPlan, Subscription
from billing.ownership import own_subscription
from billing.vocabulary import Period
from catalog.engines import check_tier, engine_of, fits
from catalog.models import Tier
from catalog.tiers import known_tier, offered, tier_of

SETTLED = timedelta(seconds=30)
CHANGES = Limit(name="next-plan", times=30, seconds=3600)  # per agent: each change is a row in its timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowingPlan:
    """The plan that follows on a subscription, as the API and the pages show it to the owner."""

    subscription_id: str
    tier: str
    period: Period
    price_usd: Decimal
    starts_at: datetime
    tier_snapshot: dict[str, Any]
    chosen_at: datetime


def following(row: Subscription, *, now: datetime) -> FollowingPlan | None:
    """The chosen next plan of the subscription. None if the plan stays the same."""
    plan = after(row)
    if plan is None:
        return None
    period = period_of(row)
    return FollowingPlan(
        subscription_id=row.pk,
        tier=plan.tier,
        period=period,
        price_usd=price_of(plan, period),
        starts_at=starts(row, now=now),
        tier_snapshot=plan.tier_snapshot,
        chosen_at=plan.chosen_at,
    )


def starts(row: Subscription, *, now: datetime) -> datetime:
    """When the next plan begins: when a card is charged for it, or else when the paid time ends.

    A card that was entered in the free days is charged earlier than the paid time ends, since free days lengthen that
    time.
    """
    ends = term.ends(agent_terms.bought(row), agent_terms.pauses(row.user_id), now=now)
    card = CardSubscription.objects.renewing().filter(agent=row.agent_id).first()
    return ends if card is None or card.period_end is None else min(ends, card.period_end)


def period_of(row: Subscription) -> Period:
    """The period for which the next plan is paid: the card's period if a card renews, or else the subscription's."""
    card = CardSubscription.objects.charged(row.agent).select_related("order").first()
    return Period(card.order.period if card else row.period)


def price_of(plan: NextPlan, period: Period) -> Decimal:
    """The price per period in USD, as it was when the plan was chosen."""
    return prices.listed(plan.tier, plan.tier_snapshot, period)


def of(user: User, subscription_id: str, *, now: datetime) -> FollowingPlan | None:
    """The next plan of the caller's subscription, or None. Raises NoSuchSubscription."""
    return following(own_subscription(user, subscription_id), now=now)


def after(row: Subscription) -> NextPlan | None:
    if _why_not(row):
        return None
    plan = NextPlan.objects.filter(agent=row.agent_id, dropped_at=None).first()
    return plan if plan and quota.is_larger(tier_of(row.tier), than=tier_of(plan.tier)) else None


def choices(agent: Agent, row: Subscription) -> list[Tier]:
    """The plans that can follow on the subscription, the smallest first."""
    if _why_not(row):
        return []
    engine, held = engine_of(agent.engine), tier_of(row.tier)
    smaller = (tier for tier in offered() if quota.is_larger(held, than=tier) and fits(engine, tier))
    period = period_of(row)
    return [tier for tier in smaller if prices.price_of(tier, period)]


@transaction.atomic
def choose(user: User, subscription_id: str, *, tier: str, actor: str, now: datetime) -> FollowingPlan | None:
    """Choose this plan for the time after the paid time; until then the agent keeps its plan.

    Choosing the same plan again changes nothing.
    Raises NoSuchSubscription, NothingAfter, UnknownTier, NotSmaller, EngineBelowMinTier, NothingToPay, RateLimited.
    """
    agent, row = _locked(user, subscription_id)
    if why := _why_not(row):
        raise NothingAfter(row, why)
    wanted, period = known_tier(tier), period_of(row)
    if not quota.is_larger(tier_of(row.tier), than=wanted):
        raise NotSmaller(wanted.id, row.tier)
    check_tier(engine_of(agent.engine), wanted)
    price = prices.payable(wanted, period)
    known = after(row)
    if known is not None and known.tier == wanted.id:
        return following(row, now=now)
    throttling.spend(CHANGES, by=agent.pk, now=now)
    values = {
        "tier": wanted.id,
        "price_usd": price,
        "tier_snapshot": prices.snapshot_of(wanted.id, period),
        "chosen_at": now,
        "dropped_at": None,
    }
    NextPlan.objects.update_or_create(agent=agent, defaults=values)
    tell_card(agent, now=now)
    words = f"{wanted.id} was chosen for the time after {row.pk}"
    timeline.note(agent, words, reason=Reason.PAYMENT, actor=actor, now=now)
    return following(row, now=now)


@transaction.atomic
def drop(user: User, subscription_id: str, *, actor: str, now: datetime) -> None:
    """Drop the next plan: the agent keeps its plan. Calling this twice is harmless. Raises NoSuchSubscription."""
    agent, row = _locked(user, subscription_id)
    plan = after(row)
    if plan is None:
        return
    plan.dropped_at = now
    plan.save(update_fields=["dropped_at"])
    if not CardSubscription.objects.charged(agent).exists():
        plan.delete()
    tell_card(agent, now=now)
    timeline.note(agent, f"{row.tier} is kept after {row.pk}", reason=Reason.PAYMENT, actor=actor, now=now)


def tell_card(agent: Agent, *, now: datetime) -> None:
    """Make Stripe's price change due in 30 seconds. The caller holds the agent's lock.

    The delay groups several changes by the owner into one call to Stripe, whose calls are limited.
    """
    plan = NextPlan.objects.filter(agent=agent).first()
    if plan is None:
        return
    for card in CardSubscription.objects.charged(agent).select_related("order"):
        price = price_of(plan, Period(card.order.period))
        remember(card, tier=plan.tier, price_usd=price, tier_snapshot=plan.tier_snapshot)
        card.reprice_at = now + SETTLED
        card.save(update_fields=["told_plans", "reprice_at"])


def remember(card: CardSubscription, *, tier: str, price_usd: Decimal, tier_snapshot: dict[str, Any]) -> None:
    """Remember that an invoice with this price may come, at any later time. The caller saves the row."""
    told = {"tier": tier, "priceUsd": str(price_usd), "tierSnapshot": tier_snapshot}
    others = [one for one in card.told_plans or [] if (one["tier"], one["priceUsd"]) != (tier, told["priceUsd"])]
    card.told_plans = [*others, told]


def forget(agent: Agent, *, now: datetime) -> None:
    """Drop the choice because another plan was bought: the card is charged its own price again.

    The caller holds the agent's lock.
    """
    if NextPlan.objects.filter(agent=agent).delete()[0]:
        CardSubscription.objects.charged(agent).exclude(told_plans=None).update(reprice_at=now + SETTLED)


def begin(agent: Agent) -> Agent:
    """Give the agent the chosen plan: its paid time is over and no card renews it.

    The caller holds the agent's lock.
    """
    plan = NextPlan.objects.filter(agent=agent, dropped_at=None).first()
    if plan is None or CardSubscription.objects.charged(agent).exists():
        return agent
    plan.delete()
    smaller = quota.is_larger(tier_of(agent.tier), than=tier_of(plan.tier))
    return profile.follow_payment(agent, plan.tier) if smaller else agent


def _locked(user: User, subscription_id: str) -> tuple[Agent, Subscription]:
    known = own_subscription(user, subscription_id)
    agent = Agent.objects.lock(known.agent_id)
    return agent, Subscription.objects.select_for_update(of=("self",)).get(pk=known.pk)


def _why_not(row: Subscription) -> str:
    """Why no plan can follow on the subscription. Empty if one can."""
    if row.is_internal:
        return "an operator granted it without an end"
    if not row.is_live or row.parked_at is not None:
        return "it is over; order the plan that you want"
    return f"change the plan at {row.provider}" if row.is_licensed else ""
