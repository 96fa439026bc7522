"""/account/agents/{id}/cancel: stop the renewal of an agent."""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from accounts.authentication import caller
from billing import cancellation, licence_cards, reminders, unused_time
from billing.providers import registry
from config import clock
from pages.account import words
from pages.account.agents.base import AgentPagePage


class CancelPage(AgentPagePage):
    """Cancel the next charge. The paid time stays."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        """Say what it means, and where to go if only the buyer can stop the card."""
        agent = self.own_agent(id)
        row = unused_time.paid_by(agent)
        if row is None or not reminders.renews_itself(row):
            return self.go(f"/account/agents/{agent.pk}")
        context = {
            "agent": agent,
            "provider": registry.name_of(reminders.renewed_by(row)),
            "till": words.moment(row.current_period_end),
            "elsewhere": licence_cards.where_to_stop(row) if not licence_cards.can_stop(row) else None,
        }
        return self.page("cancel.html", context)

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        row = unused_time.paid_by(agent)
        if row is not None and reminders.renews_itself(row):
            user = caller(request)
            cancellation.cancel(user, row.pk, actor=f"user:{user.pk}", now=clock.now())
        return self.go(f"/account/agents/{agent.pk}")
