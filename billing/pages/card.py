"""/account/agents/{id}/card"""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from accounts.authentication import caller
from billing.pages.base import AgentPageViewSet
from billing.stripe import customers


class CardViewSet(AgentPageViewSet):
    """Leads to Stripe's page about the card, from a page of ours: a form may not lead to another host (`POLICY`)."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(f"/account/agents/{self.own_agent(id).pk}")

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        address = customers.portal(caller(request), back=f"/account/agents/{agent.pk}")
        return self.page("card.html", {"agent": agent, "address": address})
