"""/account/agents/{id}/settings: settings of an agent."""

from __future__ import annotations

import zoneinfo

from django.http import HttpResponseBase
from rest_framework.request import Request

from agents.configuring import profile
from agents.models import Agent
from catalog.engines import engine_of
from config.errors import ServiceError
from pages.account.agents import agent_refusals
from pages.account.agents.base import AgentPagePage
from pages.languages import LANGUAGES

FIELDS = ("name", "lang", "timezone", "extra_soul")


class SettingsPage(AgentPagePage):
    """Name, language, time zone, and the owner's additions to the persona."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        return self._asking(agent, {name: getattr(agent, name) or "" for name in FIELDS})

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        typed = {name: self.typed(name) for name in FIELDS}
        extra = typed["extra_soul"].replace("\r\n", "\n").replace("\0", "").strip()
        try:
            profile.change(
                agent,
                name=typed["name"],
                lang=typed["lang"] if typed["lang"] in profile.LANGS else agent.lang,
                timezone=typed["timezone"].strip() or None,
                extra_soul=extra or None,
            )
        except ServiceError as refusal:
            problem = agent_refusals.text(refusal, engine_of(agent.engine))
            return self._asking(agent, typed, problem=problem, status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}")

    def _asking(self, agent: Agent, typed: dict[str, str], *, problem: str = "", status: int = 200) -> HttpResponseBase:
        context = {
            "agent": agent,
            "typed": typed,
            "languages": [(code, LANGUAGES[code].label) for code in profile.LANGS if code in LANGUAGES],
            "zones": sorted(zoneinfo.available_timezones()),
            "longest": profile.MAX_NAME_CHARACTERS,
            "longest_extra": profile.MAX_EXTRA_SOUL_CHARACTERS,
            "problem": problem,
        }
        return self.page("settings.html", context, status=status)
