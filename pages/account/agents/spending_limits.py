"""/account/agents/{id}/limits: what the agent may spend on its model."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.utils.translation import gettext
from rest_framework.request import Request

from agents.models import Agent
from agents.serializers.limits import LimitsSerializer, PutLimitsSerializer
from agents.spending import limits
from config import numbers
from config.errors import BadRequest
from pages.account.agents.base import AgentPagePage

AMOUNTS = ("usdPerDay", "usdPerMonth")
NUMBERS = ("tokensPerTurn", "requestsPerMinute")


class SpendingLimitsPage(AgentPagePage):
    """Limits in US dollars, tokens and calls, and the switch that stops all calls."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        return self._asking(agent, LimitsSerializer(limits.of(agent)).data)

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Save all of them. An empty field is no limit."""
        agent = self.own_agent(id)
        typed = {name: self.typed(name).strip() for name in (*AMOUNTS, *NUMBERS)}
        stopped = self.typed("stopped") == "yes"
        body = PutLimitsSerializer(data=_body(typed) | {"stopped": stopped})
        if not body.is_valid():
            problem = gettext("Enter amounts such as 5 or 0.50, and whole numbers of 1 or more.")
            return self._asking(agent, {**typed, "stopped": stopped}, problem=problem, status=400)
        try:
            limits.replace(agent, **body.validated_data)
        except BadRequest:
            problem = gettext("Its model has no price here. Choose another model, or limit tokens and calls only.")
            return self._asking(agent, {**typed, "stopped": stopped}, problem=problem, status=400)
        return self.go(f"/account/agents/{agent.pk}")

    def _asking(self, agent: Agent, typed: dict[str, Any], *, problem: str = "", status: int = 200) -> HttpResponseBase:
        fields = [
            ("usdPerDay", gettext("US dollars a day"), "decimal"),
            ("usdPerMonth", gettext("US dollars a month"), "decimal"),
            ("tokensPerTurn", gettext("Tokens in one turn"), "numeric"),
            ("requestsPerMinute", gettext("Model calls a minute"), "numeric"),
        ]
        context = {
            "agent": agent,
            "fields": [(name, label, keyboard, shown(name, typed[name])) for name, label, keyboard in fields],
            "stopped": typed["stopped"],
            "problem": problem,
        }
        return self.page("limits.html", context, status=status)


def _body(typed: dict[str, str]) -> dict[str, Any]:
    """The body of `PUT /agents/{id}/limits`, in the API's words."""
    given: dict[str, Any] = {name: numbers.whole(typed[name]) or typed[name] for name in NUMBERS}
    given |= {name: numbers.amount(typed[name]) or typed[name] for name in AMOUNTS}
    return {name: value for name, value in given.items() if value != ""}


def shown(name: str, value: object) -> str:
    """A limit in its field."""
    if value is None:
        return ""
    return f"{value:.2f}" if name in AMOUNTS and isinstance(value, int | float) else str(value)
