"""/account/agents/{id}/card: Stripe's page about the card."""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from accounts.authentication import caller
from billing.stripe import customers
from pages.account.agents.base import AgentPagePage


class CardPage(AgentPagePage):
    """Show a page that leads to Stripe. Not a redirect: a form must not lead to another host (`POLICY`)."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(f"/account/agents/{self.own_agent(id).pk}")

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        address = customers.portal(caller(request), back=f"/account/agents/{agent.pk}")
        return self.page("card.html", {"agent": agent, "address": address})
