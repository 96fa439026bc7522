"""/account/agents/{id}/memory: the agent's memory."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.utils.translation import gettext
from rest_framework.request import Request

from agents.configuring import memory
from agents.configuring.memory import AgentMemory
from agents.models import Agent, Desired
from catalog.engines import engine_of
from config.errors import Conflict, ServiceError
from pages.account.agents import agent_refusals
from pages.account.agents.base import AgentPagePage


class MemoryPage(AgentPagePage):
    """The agent's instructions and what it has learned. Read-only."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        try:
            found = memory.of(agent)
        except ServiceError as refusal:
            return self._shown(agent, problem=_problem(refusal, agent), status=refusal.status)
        return self._shown(agent, found=found)

    def _shown(
        self, agent: Agent, *, found: AgentMemory | None = None, problem: str = "", status: int = 200
    ) -> HttpResponseBase:
        context = {"agent": agent, "found": found, "problem": problem, "stopped": agent.desired == Desired.STOPPED}
        return self.page("memory.html", context, status=status)


def _problem(refusal: ServiceError, agent: Agent) -> str:
    if not isinstance(refusal, Conflict):
        return agent_refusals.text(refusal, engine_of(agent.engine))
    if agent.desired == Desired.STOPPED:
        return gettext("The agent is stopped and has no backup that can be read. Start it again to see its memory.")
    return gettext("The agent does not answer and has no backup that can be read. Look again in a minute.")
