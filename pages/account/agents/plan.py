"""/account/agents/{id}/plan: each plan with its price now or later, and a button that works."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from agents.errors import NoSuchAgent
from agents.models import Agent
from billing import next_plans, prices, renewal, subscriptions, unused_time
from billing.models import CardSubscription, Subscription
from billing.providers import registry
from billing.renewal import WantedRenewal
from billing.vocabulary import Period, Provider
from catalog.models import Tier
from config.errors import ServiceError
from pages.account import words
from pages.account.agents.base import AgentPagePage
from pages.account.renew import bills, choices, refusals
from pages.account.renew.bills import Bill
from pages.account.renew.choices import PlanChoice
from pages.frame import stamped
from pages.words import usd


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """`bill` is what the plan costs now; `later` is its price from the end of the paid time on."""

    choice: PlanChoice
    is_now: bool
    wanted: WantedRenewal | None
    bill: Bill | None
    later: str
    why_not: str


class PlanPage(AgentPagePage):
    """Read-only: a plan that costs something now is paid on /renew, and a later one is chosen with its own form."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent, now = self.own_agent(id), timezone.now()
        row = unused_time.paid_by(agent)
        smaller = {tier.id: tier for tier in next_plans.choices(agent, row)} if row else {}
        following = next_plans.following(row, now=now) if row else None
        context = {
            "agent": agent,
            "lines": [_line(one, agent, row, smaller, now=now) for one in choices.plans(agent)],
            "till": words.moment(next_plans.starts(row, now=now)) if row and smaller else "",
            "following": following.tier if following else "",
            "options_sheet": stamped("billing/renew.css"),
        }
        return self.page("plan.html", context)


def _line(
    choice: PlanChoice, agent: Agent, row: Subscription | None, smaller: dict[str, Tier], *, now: datetime
) -> PlanRow:
    is_now = choice.id == (row.tier if row else agent.tier)
    wanted = None if choice.why_not or (is_now and row) or choice.id in smaller else _wanted(choice.id, agent, row)
    nothing = "" if choice.id in smaller or (is_now and row) else gettext("There is no way to pay here yet.")
    bill, why_not = _costs(agent, wanted, now=now) if wanted else (None, choice.why_not or nothing)
    return PlanRow(
        choice=choice,
        is_now=is_now,
        wanted=wanted if bill else None,
        bill=bill,
        later=_later(smaller[choice.id], row) if row and choice.id in smaller else "",
        why_not=why_not,
    )


def _wanted(tier: str, agent: Agent, row: Subscription | None) -> WantedRenewal | None:
    """The purchase of this plan: with the card that is charged already, or else with the first provider that works."""
    period = Period(row.period) if row else Period.MONTHLY
    card = CardSubscription.objects.renewing().filter(agent=agent).select_related("order").first()
    if card is not None:
        return WantedRenewal(tier=tier, period=period, provider=Provider(card.order.provider))
    way = renewal.preferred(registry.offers(), licence=subscriptions.licence_of(agent))
    return WantedRenewal(tier=tier, period=period, provider=way) if way else None


def _costs(agent: Agent, wanted: WantedRenewal, *, now: datetime) -> tuple[Bill | None, str]:
    """The costs. If the purchase would be refused: no costs, and the reason."""
    try:
        return bills.bill(agent, wanted, now=now), ""
    except NoSuchAgent:
        raise
    except ServiceError as refusal:
        return None, refusals.form_refusal(refusal, agent, wanted).text


def _later(tier: Tier, row: Subscription) -> str:
    period = next_plans.period_of(row)
    return f"{usd(prices.price_of(tier, period))} {words.PERIODS[period]}"
