"""/account/agents/{id}/domain: set or remove the agent's domain."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.http import HttpResponseBase
from django.utils.translation import gettext, ngettext
from rest_framework.request import Request

from agents import errors
from agents.domains import check, claims, names
from agents.domains.check import DomainCheck
from agents.domains.models import ClaimStatus, DomainClaim
from agents.models import Agent
from catalog.engines import engine_of
from config.errors import BadRequest, ServiceError
from pages.account import words
from pages.account.agents import agent_refusals
from pages.account.agents.base import AgentPagePage

_ADDRESS = re.compile(r"https?://([^/?#]*)[^\s]*", re.IGNORECASE)


def hostname(typed: str) -> str:
    """The hostname in a URL that was copied from a browser. Other texts stay as they are."""
    found = _ADDRESS.fullmatch(typed.strip())
    return found[1] if found else typed.strip().removesuffix("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsRow:
    """A DNS record to set, and whether we have seen it in DNS."""

    record: check.DnsRecord
    is_set: bool


class DomainPage(AgentPagePage):
    """The agent's own hostname, the DNS records that it needs, and whether they are set."""

    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        """Show the domain. With `?look=now`, query DNS and, if the name leads here, send a request to it."""
        agent = self.own_agent(id)
        if not agent.domain or "look" not in self.sent.GET or self.looking:
            return self._shown(agent)
        try:
            found = check.of(agent.user_id, agent.domain, https=True)
        except ServiceError as refusal:
            return self._shown(agent, problem=_problem(refusal, agent), status=refusal.status)
        return self._shown(agent, found=found)

    def create(self, request: Request, id: str) -> HttpResponseBase:
        return self.claimed(self.own_agent(id), hostname(self.typed("domain")))

    def claimed(self, agent: Agent, typed: str) -> HttpResponseBase:
        try:
            domain = names.normalised(typed)
            claims.claim(agent, domain, seen=check.look(agent.user_id, domain), actor=self.actor())
        except ServiceError as refusal:
            problem = _problem(refusal, agent)
            return self._shown(agent, typed=typed, problem=problem, refused=refusal, status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}/domain?look=now")

    def _shown(
        self,
        agent: Agent,
        *,
        typed: str = "",
        found: DomainCheck | None = None,
        problem: str = "",
        refused: ServiceError | None = None,
        status: int = 200,
    ) -> HttpResponseBase:
        held = DomainClaim.objects.held().filter(agent=agent).first()
        # A person who proves a name takes it over. So its records are shown although another agent has it.
        disputed = names.normalised(typed) if isinstance(refused, errors.DomainTaken) else ""
        context = {
            "agent": agent,
            "held": held,
            "proved": held is not None and held.status == ClaimStatus.PROVED,
            "until": words.moment(held.lapses_at) if held and held.lapses_at else "",
            "looked": words.moment(held.looked_at) if held and held.looked_at else "",
            "domain": disputed or (held.domain if held else ""),
            "lines": _lines(agent, disputed, held),
            "found": found,
            "own": agent.endpoint_url,
            "typed": typed or (held.domain if held else ""),
            "problem": problem,
        }
        return self.page("domain.html", context, status=status)


class DomainLookPage(DomainPage):
    """Check DNS now, including the proof. It works like sending the same name to the API again."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(f"/account/agents/{self.own_agent(id).pk}/domain")

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        return self.claimed(agent, agent.domain or "")


class DomainRemovalPage(DomainLookPage):
    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        try:
            claims.release(agent, actor=self.actor())
        except ServiceError as refusal:
            return self._shown(agent, problem=_problem(refusal, agent), status=refusal.status)
        return self.go(f"/account/agents/{agent.pk}/domain")


def _lines(agent: Agent, disputed: str, held: DomainClaim | None) -> list[DnsRow]:
    if disputed:
        return [DnsRow(record=one, is_set=False) for one in check.to_set(disputed, agent.user_id)]
    if held is None:
        return []
    seen = {"TXT": held.status == ClaimStatus.PROVED}
    leads = held.points_since is not None
    return [DnsRow(record=one, is_set=seen.get(one.type, leads)) for one in check.to_set(held.domain, agent.user_id)]


def _problem(refusal: ServiceError, agent: Agent) -> str:
    match refusal:
        case errors.DomainTaken():
            return gettext(
                "Another agent has this domain, or had it until recently. If the domain is yours, set the TXT record"
                " below, then save again."
            )
        case errors.YourOtherAgent():
            return gettext("Another agent of yours has this domain. Remove it there first.")
        case errors.NeedsDomain():
            text = gettext("%(engine)s needs a domain: enter another one instead.")
            return text % {"engine": engine_of(agent.engine).label}
        case errors.TooManyDomains():
            return _too_many(refusal.count)
        case BadRequest():
            return gettext("This cannot be the agent's domain. Enter a name of your own, such as agent.example.com.")
    return agent_refusals.text(refusal, engine_of(agent.engine))


def _too_many(count: int) -> str:
    text = ngettext(
        "You gave %(count)d domain back in the last 30 days. Take that one again, or wait.",
        "You gave %(count)d domains back in the last 30 days. Take one of these again, or wait.",
        count,
    )
    return text % {"count": count}
