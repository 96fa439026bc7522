"""/account/agents/{id}/next-plan: choose a smaller plan for the time after the paid time."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from accounts.authentication import caller
from agents.models import Agent
from billing import next_plans, prices, unused_time
from billing.models import Subscription
from billing.next_plans import FollowingPlan
from billing.vocabulary import Period
from catalog.models import Tier
from config import clock
from pages.account import words
from pages.account.agents.base import AgentPagePage
from pages.account.names import plan_name
from pages.frame import stamped
from pages.words import usd

KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPlanChoice:
    id: str
    name: str
    price: str
    chosen: bool


class NextPlanPage(AgentPagePage):
    """Choose a smaller plan for the time after the paid time."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent, now = self.own_agent(id), timezone.now()
        row = unused_time.paid_by(agent)
        smaller = next_plans.choices(agent, row) if row else []
        if row is None or not smaller:
            return self.go(f"/account/agents/{agent.pk}")
        chosen, period = next_plans.following(row, now=now), next_plans.period_of(row)
        context = {
            "agent": agent,
            "till": words.moment(next_plans.starts(row, now=now)),
            "choices": [_choice(tier, period, chosen) for tier in smaller],
            "kept": plan_name(row.tier),
            "keeps": chosen is None,
            "keep": KEEP,
            "options_sheet": stamped("billing/renew.css"),
        }
        return self.page("next_plan.html", context)

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent, now, tier = self.own_agent(id), clock.now(), self.typed("tier")
        row, user = unused_time.paid_by(agent), caller(request)
        if row is not None and tier == KEEP:
            next_plans.drop(user, row.pk, actor=f"user:{user.pk}", now=now)
        elif row is not None:
            next_plans.choose(user, row.pk, tier=tier, actor=f"user:{user.pk}", now=now)
        return self.go(f"/account/agents/{agent.pk}")


def line(agent: Agent, row: Subscription | None) -> dict[str, object] | None:
    """The next plan for the agent's page. Empty if one can be chosen, None if not."""
    if row is None:
        return None
    chosen = next_plans.following(row, now=timezone.now())
    if chosen is not None:
        return {
            "name": plan_name(chosen.tier),
            "day": words.day(chosen.starts_at),
            "price": _price(chosen.price_usd, chosen.period),
        }
    return {} if next_plans.choices(agent, row) else None


def _choice(tier: Tier, period: Period, chosen: FollowingPlan | None) -> NextPlanChoice:
    return NextPlanChoice(
        id=tier.id,
        name=plan_name(tier.id),
        price=_price(prices.price_of(tier, period), period),
        chosen=chosen is not None and chosen.tier == tier.id,
    )


def _price(amount: Decimal, period: Period) -> str:
    return f"{usd(amount)} {words.PERIODS[period]}"
