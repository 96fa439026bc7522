"""/account/agents/{id}/free-plan: choose another plan for an agent that is not paid for yet."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.utils.translation import gettext
from rest_framework.request import Request

from agents import entitlement, errors
from agents.configuring import profile
from agents.errors import AboveTrialTier
from agents.models import Agent
from catalog import engines, tiers
from catalog.engines import EngineBelowMinTier, engine_of
from catalog.models import Tier
from config.errors import Conflict, ServiceError
from pages.account import create
from pages.account.agents import agent_refusals
from pages.account.agents.base import AgentPagePage
from pages.frame import stamped


class FreePlanPage(AgentPagePage):
    """The plans that an unpaid agent may have. Others must be paid for."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        return self.go(f"/renew/{agent.pk}") if agent.paid else self._asking(agent, agent.tier)

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent, tier = self.own_agent(id), self.typed("tier")
        try:
            profile.change(agent, tier=tier)
        except ServiceError as refusal:
            return self._asking(agent, tier, problem=_problem(refusal, agent), status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}")

    def _asking(self, agent: Agent, chosen: str, *, problem: str = "", status: int = 200) -> HttpResponseBase:
        context = {
            "agent": agent,
            "plans": [create.plan_option(tier, chosen=chosen) for tier in tiers.offered() if _may_have(agent, tier)],
            "problem": problem,
            "options_sheet": stamped("billing/renew.css"),
        }
        return self.page("free_plan.html", context, status=status)


def _may_have(agent: Agent, tier: Tier) -> bool:
    try:
        engines.check_tier(engine_of(agent.engine), tier)
        entitlement.refuse_above_trial(tier)
    except (EngineBelowMinTier, AboveTrialTier):
        return False
    return True


def _problem(refusal: ServiceError, agent: Agent) -> str:
    match refusal:
        case errors.LargerOnlyPaid():
            return gettext("The free time of this agent is over: a larger plan has to be paid for.")
        case Conflict():
            return gettext("The agent is already paid for. You can buy another plan on the payment page.")
        case tiers.UnknownTier():
            return gettext("Choose one of these plans.")
    return agent_refusals.text(refusal, engine_of(agent.engine))
