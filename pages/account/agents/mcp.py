"""/account/agents/{id}/mcp: the MCP servers whose tools the agent can use."""

from __future__ import annotations

import re

from django.http import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from agents import errors
from agents.configuring import mcp_test, tools
from agents.configuring.mcp_servers import MAX_SERVERS, Server
from agents.engines import ENGINES
from agents.models import Agent
from agents.runtimes.management import TriedServer
from agents.serializers.agents import McpServerSerializer
from catalog.engines import engine_of
from config.crypto import readable
from config.errors import BadRequest, ServiceError
from pages.account.agents import agent_refusals, buttons
from pages.account.agents.base import AgentPagePage
from pages.account.looking import MASKED, without_query

FIELDS = ("name", "url", "headers", "command", "args", "env")
# By the server's field that the API's message names.
PROBLEMS: dict[str, Promise] = {
    "name": _(
        "Choose another name. It may have letters, digits, - and _ only. A group of tools or another server of the"
        " agent must not have the same name."
    ),
    "url": _("Enter the whole address of the server, such as https://example.com/mcp, without a password in it."),
    "headers": _("Write one header a line, such as Authorization: Bearer abc."),
    "command": _("Enter a program that the agent can start, such as npx."),
    "args": _("These arguments are too long."),
    "env": _("Write one variable a line, such as API_KEY=abc."),
}


class McpPage(AgentPagePage):
    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.shown(self.own_agent(id))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Add a server with a URL."""
        typed = {name: self.typed(name) for name in FIELDS}
        server: Server = {"name": typed["name"].strip(), "url": typed["url"].strip()}
        return self.added(self.own_agent(id), server, pairs=_pairs(typed["headers"], ":"), field="headers", typed=typed)

    def added(
        self, agent: Agent, server: Server, *, pairs: dict[str, str] | None, field: str, typed: dict[str, str]
    ) -> HttpResponseBase:
        """Add a server. `pairs` is None if a line of the field could not be parsed."""
        try:
            if pairs is None:
                raise BadRequest(f"mcpServers[0].{field}: a line without a name")
            tools.add_server(agent, _checked({**server, **({field: pairs} if pairs else {})}))
        except ServiceError as refusal:
            return self.shown(agent, typed=typed, problem=_problem(refusal, agent), status=refusal.status)
        return self.go(_page(agent))

    def shown(
        self,
        agent: Agent,
        *,
        typed: dict[str, str] | None = None,
        tried: TriedServer | None = None,
        name: str = "",
        problem: str = "",
        status: int = 200,
    ) -> HttpResponseBase:
        """`tried` is the answer of the server with this name to a test."""
        engine, adapter = engine_of(agent.engine), ENGINES.get(agent.engine)
        servers = readable(agent).mcp_servers
        context = {
            "agent": agent,
            "engine": engine.label,
            "takes": engine.mcp,
            "starts": adapter is None or adapter.mcp_stdio,
            "servers": [self._line(server, tried if server["name"] == name else None) for server in servers],
            "full": len(servers) >= MAX_SERVERS,
            "typed": typed or {},
            "problem": problem,
        }
        return self.page("mcp.html", context, status=status)

    def _line(self, server: Server, tried: TriedServer | None) -> dict[str, object]:
        """One server. In an operator's look, addresses and commands lose the parts in which keys may be."""
        line = _line(server, tried)
        if self.looking:
            line["where"] = without_query(server["url"]) if server.get("url") else f"{server['command']} {MASKED}"
        return line


class McpCommandPage(McpPage):
    """Add a server that the agent starts itself."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(_page(self.own_agent(id)))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        typed = {name: self.typed(name) for name in FIELDS}
        server: Server = {"name": typed["name"].strip(), "command": typed["command"].strip()}
        if args := typed["args"].splitlines():
            server["args"] = args
        return self.added(self.own_agent(id), server, pairs=_pairs(typed["env"], "="), field="env", typed=typed)


class McpTestPage(McpCommandPage):
    """Ask a server for its tools, and show its answer."""

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent, name = self.own_agent(id), self.typed("name")
        try:
            tried = mcp_test.run(agent, name=name)
        except ServiceError as refusal:
            return self.shown(agent, problem=_not_tested(refusal, agent), status=refusal.status)
        return self.shown(agent, tried=tried, name=name)


class McpRemovalPage(McpCommandPage):
    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        tools.remove_server(agent, self.typed("name"))
        return self.go(_page(agent))


def _page(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}/mcp"


def _line(server: Server, tried: TriedServer | None) -> dict[str, object]:
    """One server. Only the names of headers and variables are shown: their values are secrets."""
    return {
        "tried": tried,
        "testable": bool(server.get("url")),
        "name": server["name"],
        "where": server.get("url") or " ".join([server["command"], *(server.get("args") or [])]),
        "given": sorted({**(server.get("headers") or {}), **(server.get("env") or {})}),
    }


def _not_tested(refusal: ServiceError, agent: Agent) -> str:
    match refusal:
        case errors.NoSuchServer():
            return gettext("There is no server of this name any more.")
        case errors.ServerOfTheEngine():
            return gettext("The agent starts this server itself: ask the agent to use it.")
    return buttons.problem(refusal, agent)


def _pairs(text: str, sign: str) -> dict[str, str] | None:
    """A name and a value from each line. None if a line has another form, or a name occurs twice."""
    lines = [line.strip().partition(sign) for line in text.splitlines() if line.strip()]
    pairs = {name.strip(): value.strip() for name, found, value in lines if found}
    return pairs if len(pairs) == len(lines) else None


def _checked(server: Server) -> Server:
    """Check the limits of the API's request body. Raises BadRequest that names the field."""
    body = McpServerSerializer(data=server)
    if not body.is_valid():
        raise BadRequest(f"mcpServers[0].{next(iter(body.errors))}: cannot be")
    return dict(body.validated_data)


def _problem(refusal: ServiceError, agent: Agent) -> str:
    if not isinstance(refusal, BadRequest):
        return agent_refusals.text(refusal, engine_of(agent.engine))
    if "at most" in refusal.message and refusal.message.startswith("mcpServers:"):
        text = ngettext(
            "An agent has at most %(count)d server. Remove it first.",
            "An agent has at most %(count)d servers. Remove one first.",
            MAX_SERVERS,
        )
        return text % {"count": MAX_SERVERS}
    named = re.match(r"mcpServers\[\d+\]\.?(\w*)", refusal.message)
    field = named[1] if named else ""
    return str(PROBLEMS.get(field, "")) or gettext("Enter the address of the server.")
