"""/account/agents/{id}/egress: which hosts the agent may ask, secrets that it never holds, and what it has asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.http import HttpResponseBase
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from agents.egress import rules, visits
from agents.egress.models import Egress, EgressHost
from agents.models import Agent
from agents.serializers.egress import PutEgressSecretSerializer, PutEgressSerializer
from catalog.engines import engine_of
from config.errors import BadRequest, ServiceError
from pages.account import words
from pages.account.agents import agent_refusals
from pages.account.agents.base import AgentPagePage

SHOWN = 100  # rows of the log
# By the field that the API's message names.
PROBLEMS: dict[str, Promise] = {
    "hosts": _("Write one host a line, such as example.com, *.example.com or example.com:8443, without https://."),
    "name": _("Choose another name: letters, digits, - and _, with a letter first."),
    "header": _("This header cannot be used: enter another one, such as X-Api-Key."),
    "prefix": _("This cannot stand before the secret."),
    "value": _("Enter the secret: 8 to 4,096 characters, without accents. It is needed again for each new host."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretLine:
    name: str
    hosts: str
    header: str
    moment: str  # when its value was set


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitLine:
    host: Promise | str
    day: str
    count: int
    is_refused: bool


class EgressPage(AgentPagePage):
    """Operators do not see it: it tells which hosts a person's agent asks."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.shown(self.own_agent(id))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Save the list. The hosts stay when it is switched off."""
        agent = self.own_agent(id)
        typed = {"list": self.typed("list"), "hosts": self.typed("hosts")}
        body = PutEgressSerializer(data={"allowList": typed["list"], "hosts": lines_of(typed["hosts"])})
        try:
            rules.replace(agent, actor=self.actor(), **_valid(body))
        except ServiceError as refusal:
            return self.shown(agent, typed=typed, refusal=refusal)
        return self.go(page_of(agent))

    def shown(
        self, agent: Agent, *, typed: Mapping[str, str] | None = None, refusal: ServiceError | None = None
    ) -> HttpResponseBase:
        egress = rules.of(agent)
        log = visits.shown(agent)
        typed = typed or {}
        context = {
            "agent": agent,
            "is_limited": typed["list"] == "on" if "list" in typed else egress.is_limited,
            "keeps": egress.is_limited,
            "enforced": egress.is_enforced,
            "hosts": typed["hosts"] if "list" in typed else "\n".join(egress.hosts),
            "secrets": _secrets(egress),
            "full": len(egress.secrets) >= rules.MOST_SECRETS,
            "typed": {"header": "Authorization", "prefix": "Bearer ", **typed},
            "visits": [_visit(row) for row in log.rows[:SHOWN]],
            "more": log.has_more or len(log.rows) > SHOWN,
            "problem": _problem(refusal, agent) if refusal else "",
        }
        return self.page("egress.html", context, status=refusal.status if refusal else 200)


class EgressSecretPage(EgressPage):
    """Set a secret. Its value is never shown again."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(page_of(self.own_agent(id)))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        typed = {name: self.typed(name).strip() for name in ("name", "header")}
        typed |= {"prefix": self.typed("prefix"), "for": self.typed("for")}
        given: dict[str, Any] = {name: typed[name] for name in ("header", "prefix")}
        given |= {"hosts": lines_of(typed["for"])} | (
            {"value": value} if (value := self.typed("value").strip()) else {}
        )
        try:
            rules.put_secret(agent, typed["name"], actor=self.actor(), **_valid(PutEgressSecretSerializer(data=given)))
        except ServiceError as refusal:
            return self.shown(agent, typed=typed, refusal=refusal)
        return self.go(f"{page_of(agent)}#secrets")


class EgressSecretRemovalPage(EgressSecretPage):
    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        rules.remove_secret(agent, self.typed("name"), actor=self.actor())
        return self.go(f"{page_of(agent)}#secrets")


def page_of(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}/egress"


def lines_of(typed: str) -> list[str]:
    return [line.strip() for line in typed.splitlines() if line.strip()]


def _valid(body: PutEgressSerializer | PutEgressSecretSerializer) -> dict[str, Any]:
    """Check the limits of the API's body. Raises BadRequest that names the field."""
    if not body.is_valid():
        raise BadRequest(f"{next(iter(body.errors))}: cannot be")
    validated: dict[str, Any] = body.validated_data
    return validated


def _secrets(egress: Egress) -> list[SecretLine]:
    return [
        SecretLine(
            name=one["name"],
            hosts=", ".join(one["hosts"]),
            header=one["header"],
            moment=words.moment(datetime.fromisoformat(one["set_at"])),
        )
        for one in egress.secrets
    ]


def _visit(row: EgressHost) -> VisitLine:
    named = {visits.OTHERS: _("other hosts"), visits.UNREADABLE: _("what was no host")}
    return VisitLine(host=named.get(row.host, row.host), day=_day(row.day), count=row.count, is_refused=row.is_refused)


def _day(day: date) -> str:
    return date_format(day, "MONTH_DAY_FORMAT")


def _problem(refusal: ServiceError, agent: Agent) -> str:
    if not isinstance(refusal, BadRequest):
        return agent_refusals.text(refusal, engine_of(agent.engine))
    if refusal.message.startswith("name: an agent has at most"):
        text = ngettext(
            "An agent has at most %(count)d secret. Remove it first.",
            "An agent has at most %(count)d secrets. Remove one first.",
            rules.MOST_SECRETS,
        )
        return text % {"count": rules.MOST_SECRETS}
    if refusal.message.startswith("header: the secret"):
        return gettext("Another secret is sent to this host in this header already.")
    field = refusal.message.partition(":")[0].partition("[")[0]
    return str(PROBLEMS.get(field, "")) or refusal.message
