"""The buttons of an agent's page: /account/agents/{id}/pause, resume, rebuild, delete."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpResponseBase
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts.authentication import caller
from agents import errors
from agents.models import Agent, Reason
from agents.running import lifecycle
from config.errors import ServiceError
from pages.account import sign_in_links, words
from pages.account.agents.agents import AgentsPage


class ActPage(AgentsPage):
    """Do one thing with the agent. If the rule refuses it, the agent's page shows why."""

    template: ClassVar = ""  # the page that asks before it is done; empty: do not ask

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        return self.page(self.template, {"agent": agent}) if self.template else self.go(_page(agent))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        try:
            self.act(agent, actor=f"user:{caller(request).pk}")
        except ServiceError as refusal:
            return self.shown(agent, problem=problem(refusal, agent), status=refusal.status)
        return self.go(_page(agent))

    def act(self, agent: Agent, *, actor: str) -> None:
        raise NotImplementedError


class PausePage(ActPage):
    def act(self, agent: Agent, *, actor: str) -> None:
        lifecycle.pause(agent, reason=Reason.OWNER, actor=actor)


class ResumePage(ActPage):
    def act(self, agent: Agent, *, actor: str) -> None:
        lifecycle.resume(agent, actor=actor)


class RebuildPage(ActPage):
    template = "rebuild.html"

    def act(self, agent: Agent, *, actor: str) -> None:
        lifecycle.rebuild(agent, actor=actor)


class DeletePage(ActPage):
    """Delete the agent for good. The person must type the agent's name."""

    template = "delete.html"

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        if " ".join(self.typed("name").split()) != " ".join(agent.name.split()):
            problem = gettext("This is not the name of the agent. Nothing was deleted.")
            return self.page(self.template, {"agent": agent, "problem": problem}, status=400)
        lifecycle.delete(agent, actor=f"user:{caller(request).pk}")
        return self.go(f"{sign_in_links.ACCOUNT}#agents")


def _page(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}"


def problem(refusal: ServiceError, agent: Agent) -> str:
    match refusal:
        case errors.NotEntitled():
            return gettext("Its free time is over. Pay for it first, then it can run again.")
        case errors.WrongState():
            text = gettext("This cannot be done while the agent is: %(status)s. Wait a minute, then look again.")
            return text % {"status": words.STATUSES[agent.status]}
    return refusal.message
