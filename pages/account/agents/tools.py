"""/account/agents/{id}/tools: the agent's toolsets."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponseBase
from rest_framework.request import Request

from agents.configuring import a2a, tools
from agents.models import Agent
from catalog import tools as catalog_tools
from catalog.engines import engine_of
from catalog.models import Toolset
from catalog.vocabulary import ToolService
from config.errors import ServiceError
from pages.account.agents import agent_refusals
from pages.account.agents.base import AgentPagePage
from pages.words import Passage, translated


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetRow:
    toolset: Toolset
    name: Passage
    about: Passage
    is_on: bool
    needs: str  # the service whose key it needs


class ToolsPage(AgentPagePage):
    """The tools that the agent may use. Its MCP servers stay as they are."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        engines_own = [name for name in tools.chosen(agent) if name != a2a.TOOLSET]
        on = set(catalog_tools.effective(engines_own, engine_of(agent.engine)))
        return self._asking(agent, on | ({a2a.TOOLSET} if agent.a2a_enabled else set()))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Save the toolsets.

        A key that is left empty stays as it is. If no toolset is chosen, the default ones are used.
        """
        agent = self.own_agent(id)
        wanted = set(self.sent.POST.getlist("toolset"))
        enabled = [one.pk for one in catalog_tools.offered(engine_of(agent.engine)) if one.pk in wanted]
        typed = {service: self.typed(service).strip() for service in ToolService.values}
        secrets: tools.Given = {service: key for service, key in typed.items() if key}
        try:
            tools.replace(agent, enabled=enabled, secrets=secrets)
        except ServiceError as refusal:
            problem = agent_refusals.text(refusal, engine_of(agent.engine))
            return self._asking(agent, set(enabled), problem=problem, status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}")

    def _asking(self, agent: Agent, on: set[str], *, problem: str = "", status: int = 200) -> HttpResponseBase:
        engine = engine_of(agent.engine)
        offered = catalog_tools.offered(engine)
        labels = dict(ToolService.choices)
        needed = catalog_tools.services_of([one.pk for one in offered], engine)
        context = {
            "agent": agent,
            "engine": engine.label,
            "toolsets": [
                ToolsetRow(
                    toolset=one,
                    name=translated(one.name),
                    about=translated(one.description),
                    is_on=one.pk in on,
                    needs=str(labels.get(catalog_tools.service_of(one, engine) or "", "")),
                )
                for one in offered
            ],
            "services": [(name, labels[name], name in (agent.tool_secrets or {})) for name in needed],
            "problem": problem,
        }
        return self.page("tools.html", context, status=status)
