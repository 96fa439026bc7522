"""A smaller plan from the end of the paid time on: chosen, taken back, in effect.

Where a card renews, Stripe is told to charge the smaller plan's price from the next period on, and that charge brings
the plan (billing/stripe/repricing.py, charging.py). Where nothing renews, the agent has the smaller plan as soon as its
paid time is over.
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
from agents import profile, quota
from agents.models import Agent
from billing import prices, standing, term, timeline
from billing.errors import NothingAfter, NotSmaller
from billing.models import CardSubscription, NextPlan, Subscription
from billing.ownership import own_subscription
from billing.vocabulary import Period
from catalog.engines import check_tier, engine_of, fits
from catalog.models import Tier
from catalog.tiers import known_tier, offered, tier_of

SETTLED = timedelta(seconds=30)
CHANGES = Limit(name="next-plan", times=30, seconds=3600)  # of one agent: each is a row of its timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """The plan that follows on a subscription, as its owner is told of it."""

    subscription_id: str
    tier: str
    period: Period
    price_usd: Decimal
    starts_at: datetime
    tier_snapshot: dict[str, Any]
    chosen_at: datetime


def following(row: Subscription, *, now: datetime) -> Following | None:
    """None where the plan stays."""
    plan = after(row)
    if plan is None:
        return None
    period = period_of(row)
    return Following(
        subscription_id=row.pk,
        tier=plan.tier,
        period=period,
        price_usd=price_of(plan, period),
        starts_at=starts(row, now=now),
        tier_snapshot=plan.tier_snapshot,
        chosen_at=plan.chosen_at,
    )


def starts(row: Subscription, *, now: datetime) -> datetime:
    """When the next plan begins: as soon as a card is charged for it, else when the paid time ends.

    A card that was entered in the free days is charged before these have lengthened the paid time.
    """
    ends = term.ends(standing.bought(row), standing.pauses(row.user_id), now=now)
    card = CardSubscription.objects.renewing().filter(agent=row.agent_id).first()
    return ends if card is None or card.period_end is None else min(ends, card.period_end)


def period_of(row: Subscription) -> Period:
    """Which period the next plan is paid for: the card's, where one is charged again and again."""
    card = CardSubscription.objects.charged(row.agent).select_related("order").first()
    return Period(card.order.period if card else row.period)


def price_of(plan: NextPlan, period: Period) -> Decimal:
    """As it was when the plan was chosen."""
    return prices.listed(plan.tier, plan.tier_snapshot, period)


def of(user: User, subscription_id: str, *, now: datetime) -> Following | None:
    """What follows on the caller's subscription. Raises NoSuchSubscription."""
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
def choose(user: User, subscription_id: str, *, tier: str, actor: str, now: datetime) -> Following | None:
    """The agent keeps its plan until the paid time ends, and has this one after that. The same again changes nothing.

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
    timeline.note(agent, f"{wanted.id} was chosen for the time after {row.pk}", actor=actor, now=now)
    return following(row, now=now)


@transaction.atomic
def drop(user: User, subscription_id: str, *, actor: str, now: datetime) -> None:
    """The agent keeps its plan after all. Twice is harmless. Raises NoSuchSubscription."""
    agent, row = _locked(user, subscription_id)
    plan = after(row)
    if plan is None:
        return
    plan.dropped_at = now
    plan.save(update_fields=["dropped_at"])
    if not CardSubscription.objects.charged(agent).exists():
        plan.delete()
    tell_card(agent, now=now)
    timeline.note(agent, f"{row.tier} is kept after {row.pk}", actor=actor, now=now)


def tell_card(agent: Agent, *, now: datetime) -> None:
    """Have Stripe told which price is next, once nobody has changed it for a moment. The caller holds the agent's lock.

    So an owner who changes it again and again costs none of the calls that Stripe allows us.
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
    """An invoice of this price may come, however late; the caller saves the row."""
    told = {"tier": tier, "priceUsd": str(price_usd), "tierSnapshot": tier_snapshot}
    others = [one for one in card.told_plans or [] if (one["tier"], one["priceUsd"]) != (tier, told["priceUsd"])]
    card.told_plans = [*others, told]


def forget(agent: Agent, *, now: datetime) -> None:
    """Another plan was bought meanwhile: a card is charged its own price again. The caller holds the agent's lock."""
    if NextPlan.objects.filter(agent=agent).delete()[0]:
        CardSubscription.objects.charged(agent).exclude(told_plans=None).update(reprice_at=now + SETTLED)


def begin(agent: Agent) -> Agent:
    """The paid time is over, and no card renews it: the agent has the chosen plan. The caller holds its lock."""
    plan = NextPlan.objects.filter(agent=agent, dropped_at=None).first()
    if plan is None or CardSubscription.objects.charged(agent).exists():
        return agent
    plan.delete()
    smaller = quota.is_larger(tier_of(agent.tier), than=tier_of(plan.tier))
    return profile.follow_payment(agent, plan.tier) if smaller else agent


def _locked(user: User, subscription_id: str) -> tuple[Agent, Subscription]:
    known = own_subscription(user, subscription_id)
    agent = Agent.objects.select_for_update().get(pk=known.agent_id)
    return agent, Subscription.objects.select_for_update(of=("self",)).get(pk=known.pk)


def _why_not(row: Subscription) -> str:
    """Why no plan can follow on it; empty where one can."""
    if row.is_internal:
        return "an operator granted it without an end"
    if not row.is_live or row.parked_at is not None:
        return "it is over; order the plan that you want"
    return f"change the plan at {row.provider}" if row.is_licensed else ""
