"""/account/agents/{id}/a2a: which agents may speak to the agent, and which ones it may ask."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.utils.translation import gettext, ngettext
from rest_framework.request import Request

from agents.configuring import a2a
from agents.models import Agent
from agents.running import pods
from agents.serializers.agents import PeerSerializer
from agents.talking.a2a_catalog import CARD
from catalog.engines import engine_of
from config.crypto import readable
from config.errors import BadRequest, ServiceError
from pages.account.agents import agent_refusals
from pages.account.agents.base import AgentPagePage
from pages.account.looking import MASKED, without_query


class A2aPage(AgentPagePage):
    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.shown(self.own_agent(id))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Switch A2A on or off, and set whether the agent is listed. While A2A is off, the listing choice is kept."""
        agent = self.own_agent(id)
        wanted: dict[str, Any] = {"enabled": "enabled" in self.sent.POST}
        if wanted["enabled"]:
            wanted["listed"] = "listed" in self.sent.POST
        a2a.replace(agent, wanted)
        return self.go(_page(agent))

    def shown(
        self, agent: Agent, *, typed: dict[str, str] | None = None, problem: str = "", status: int = 200
    ) -> HttpResponseBase:
        context = {
            "agent": agent,
            "token": MASKED if self.looking else readable(agent).a2a_token,
            "url": pods.a2a_url(agent),
            "card": f"{pods.public_url(agent)}{CARD}",
            "peers": [self._peer(peer) for peer in readable(agent).a2a_peers or []],
            "most": a2a.MAX_PEERS,
            "typed": typed or {},
            "problem": problem,
        }
        return self.page("a2a.html", context, status=status)

    def _peer(self, peer: dict[str, Any]) -> dict[str, Any]:
        url = without_query(peer["url"]) if self.looking else peer["url"]
        return {**peer, "url": url, "has_token": bool(peer.get("token"))}


class A2aTokenPage(A2aPage):
    """Make a new token. The old token is refused from then on."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(_page(self.own_agent(id)))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        if agent.a2a_enabled:
            a2a.replace(agent, {"enabled": True, "rotate_token": True})
        return self.go(_page(agent))


class PeersPage(A2aTokenPage):
    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        typed = {name: self.typed(name).strip() for name in ("name", "url", "token")}
        body = PeerSerializer(data={name: value for name, value in typed.items() if value})
        try:
            if not body.is_valid():
                raise BadRequest("peers: incomplete")
            a2a.add_peer(agent, body.validated_data)
        except ServiceError as refusal:
            return self.shown(agent, typed=typed, problem=_problem(refusal, agent), status=refusal.status)
        return self.go(f"{_page(agent)}#peers")


class PeerRemovalPage(A2aTokenPage):
    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        a2a.remove_peer(agent, self.typed("name"))
        return self.go(f"{_page(agent)}#peers")


def _page(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}/a2a"


def _problem(refusal: ServiceError, agent: Agent) -> str:
    match refusal:
        case BadRequest() if "comes twice" in refusal.message:
            return gettext("There is a peer of this name already. Remove it first, or choose another name.")
        case BadRequest() if "at most" in refusal.message:
            text = ngettext(
                "An agent has at most %(count)d peer. Remove it first.",
                "An agent has at most %(count)d peers. Remove one first.",
                a2a.MAX_PEERS,
            )
            return text % {"count": a2a.MAX_PEERS}
        case BadRequest():
            return gettext("Enter a name, and the address of the peer, such as https://agent.example.com/a2a.")
    return agent_refusals.text(refusal, engine_of(agent.engine))
