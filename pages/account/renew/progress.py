"""/renew/{id}/progress: the part of /renew/{id} that changes during a payment. The page's script loads it."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from pages.account.agents.base import AgentPagePage
from pages.account.renew import payment_state


class ProgressPage(AgentPagePage):
    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        """Show the state in our own rows. No provider is called."""
        agent = self.own_agent(id)
        return self.page("renew_now.html", payment_state.context(agent, now=timezone.now()))
