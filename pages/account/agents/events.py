"""/account/agents/{id}/events: the agent's events."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpResponseBase
from rest_framework.request import Request

from pages.account import words
from pages.account.agents import event_texts
from pages.account.agents.base import AgentPagePage
from webhooks import event_log

ON_A_PAGE = 50


class EventsPage(AgentPagePage):
    """The agent's events of the last thirty days, the newest first."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        before = self.sent.GET.get("before")
        page = event_log.newest(agent, before=before, limit=ON_A_PAGE)
        here = f"/account/agents/{agent.pk}/events"
        context = {
            "agent": agent,
            "events": [
                {"text": event_texts.sentence(one), "moment": words.moment(one.created_at), "at": one.created_at}
                for one in page.events
            ],
            "older": f"{here}?{urlencode({'before': page.cursor})}" if page.cursor else None,
            "paged": before is not None,
            "first": here,
        }
        return self.page("events.html", context)
