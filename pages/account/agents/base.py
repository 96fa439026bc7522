"""What the pages of one agent share: the agent, and the navigation between its pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponseBase

from agents.views.base import AgentViewSet
from pages.account.agents import sections
from pages.account.base import AccountPageViewSet


class AgentPagePage(AccountPageViewSet, AgentViewSet):
    """A page about one agent. `own_agent(id)` works as in the API."""

    def page(self, template: str, context: Mapping[str, Any], *, status: int = 200) -> HttpResponseBase:
        """Like AccountPageViewSet.page; if the context has an agent, with the navigation between its pages."""
        agent = context.get("agent")
        there = {"sections": sections.of(agent, here=self.sent.path)} if agent else {}
        return super().page(template, {**there, **context}, status=status)
