"""/account/agents/{id}/ticket: open the agent's own page."""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from agents.talking import ticket
from pages.account.agents.base import AgentPagePage


class TicketPage(AgentPagePage):
    """Show a page that leads to the pod's own page. Not a redirect: a form must not lead to another host (`POLICY`)."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(f"/account/agents/{self.own_agent(id).pk}")

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        return self.page("ticket.html", {"agent": agent, "ticket": ticket.mint(agent)})
