"""An agent's connections, by forms: MCP servers, and other agents over A2A."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import User
from agents.configuring import a2a
from agents.models import Agent
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.doubles.mcp_http import McpHttpServer
from tests.pages.account.visitor import Visitor, text
from tests.pages.page import Page


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


@pytest.fixture
def hermes(make_agent: MakeAgent, settings: Settings) -> Agent:
    settings.MAX_TRIAL_TIER = "small"
    return settle(make_agent(engine="hermes", tier="small"))


def place(agent: Agent, page: str) -> str:
    return f"/account/agents/{agent.pk}/{page}"


def send(visitor: Visitor, agent: Agent, page: str, act: str = "", **typed: str) -> Any:
    return visitor.send(visitor.open(place(agent, page)), place(agent, page) + act, **typed)


def said(answer: Any) -> str:
    assert answer.status_code == 400, answer.content
    return text(Page(answer.content.decode()))


def test_a_server_is_added_with_its_key_which_is_not_shown_and_removed(visitor: Visitor, hermes: Agent) -> None:
    a2a.replace(hermes, {"enabled": True})
    given = {"name": " crm ", "url": " https://crm.example/mcp ", "headers": "Authorization: Bearer a:b\r\n\r\nX-Y:z"}
    visitor.follow(send(visitor, hermes, "mcp", **given))
    agent = settle(hermes)
    assert agent.mcp_servers == [
        {"name": "crm", "url": "https://crm.example/mcp", "headers": {"Authorization": "Bearer a:b", "X-Y": "z"}}
    ]
    assert agent.a2a_enabled
    page = visitor.open(place(agent, "mcp"))
    assert "crm https://crm.example/mcp with Authorization, X-Y" in text(page)
    assert "Bearer a:b" not in page.html
    visitor.follow(visitor.send(page, place(agent, "mcp/remove"), name="crm"))
    agent.refresh_from_db()
    assert (agent.mcp_servers, agent.a2a_enabled) == ([], True)


def test_a_server_that_the_agent_starts_itself(visitor: Visitor, hermes: Agent, running: Agent) -> None:
    given = {"name": "files", "command": "npx", "args": "-y\r\n@scope/server\r\n", "env": "KEY=a=b"}
    visitor.follow(send(visitor, hermes, "mcp", "/command", **given))
    agent = settle(hermes)
    assert agent.mcp_servers == [
        {"name": "files", "command": "npx", "args": ["-y", "@scope/server"], "env": {"KEY": "a=b"}}
    ]
    assert "files npx -y @scope/server with KEY" in text(visitor.open(place(agent, "mcp")))


def test_a_server_is_tested_from_the_page(visitor: Visitor, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running, peer_networks=["127.0.0.0/8"])
    with McpHttpServer(require={"X-Key": "abc"}) as server:
        running.mcp_servers = [server.entry("crm")]
        running.save(update_fields=["mcp_servers"])
        page = visitor.open(place(running, "mcp"))
        told = text(Page(visitor.send(page, place(running, "mcp/test"), name="crm").content.decode()))
        assert f"answers It has {len(server.tools)} tools: {', '.join(tool.name for tool in server.tools)}" in told
        server.require = {"x-key": "other"}
        told = text(Page(visitor.send(page, place(running, "mcp/test"), name="crm").content.decode()))
        assert "no answer it refused your headers (401)" in told
    running.mcp_servers = [{"name": "crm", "command": "npx"}]
    running.save(update_fields=["mcp_servers"])
    refused = visitor.send(page, place(running, "mcp/test"), name="crm")
    assert refused.status_code == 409
    assert "The agent starts this server itself" in text(Page(refused.content.decode()))
    assert "There is no server of this name" in said(visitor.send(page, place(running, "mcp/test"), name="x"))


WRONG: list[tuple[dict[str, str], str]] = [
    ({"name": "a b", "url": "https://x.example"}, "Choose another name"),
    ({"name": "file", "url": "https://x.example"}, "Choose another name"),
    ({"name": "x", "url": "ftp://x"}, "Enter the whole address of the server"),
    ({"name": "x", "url": ""}, "Enter the whole address of the server"),
    ({"name": "x", "url": "https://x.example", "headers": "no colon"}, "Write one header a line"),
    ({"name": "x", "url": "https://x.example", "headers": "A: 1\nA: 2"}, "Write one header a line"),
    ({"name": "x", "url": "https://x.example", "headers": "Host: y"}, "Write one header a line"),
    ({"name": "x\x00", "url": "https://x.example"}, "Choose another name"),
]


def test_what_is_wrong_with_a_server_is_said(visitor: Visitor, hermes: Agent) -> None:
    for typed, words in WRONG:
        assert words in said(send(visitor, hermes, "mcp", **{"headers": "", **typed}))
    assert Agent.objects.get(pk=hermes.pk).mcp_servers == []


def test_what_is_wrong_with_a_command_is_said_and_no_more_than_twenty_are_taken(
    visitor: Visitor, hermes: Agent
) -> None:
    answer = send(visitor, hermes, "mcp", "/command", name="x", command="npx", args="", env="no sign")
    assert "Write one variable a line" in said(answer)
    page = visitor.open(place(hermes, "mcp"))
    hermes.mcp_servers = [{"name": f"s{number}", "url": "https://x.example"} for number in range(20)]
    hermes.save(update_fields=["mcp_servers"])
    late = visitor.send(page, place(hermes, "mcp"), name="x", url="https://x.example", headers="")
    assert "at most 20 servers" in said(late)
    assert not visitor.open(place(hermes, "mcp")).all("form", action=place(hermes, "mcp"))


def test_a2a_is_switched_listed_and_given_another_token(visitor: Visitor, running: Agent) -> None:
    visitor.follow(send(visitor, running, "a2a", enabled="1", listed="1"))
    agent = settle(running)
    assert (agent.a2a_enabled, agent.a2a_listed) == (True, True)
    page = visitor.open(place(agent, "a2a"))
    assert page.one("code", id="a2a-token").text == agent.a2a_token
    assert page.one("code", id="a2a-url").text.endswith("/a2a")
    assert [one for one in page.all("a") if one.attributes["href"].endswith("/a2a/.well-known/agent-card.json")]
    ticked = [one.attributes["name"] for one in page.all("input", type="checkbox") if "checked" in one.attributes]
    assert ticked == ["enabled", "listed"]
    visitor.follow(visitor.send(page, place(agent, "a2a/token")))
    assert settle(Agent.objects.get(pk=agent.pk)).a2a_token != agent.a2a_token
    form = page.all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    visitor.follow(visitor.post(place(agent, "a2a"), csrfmiddlewaretoken=form))
    agent = settle(agent)
    assert (agent.a2a_enabled, agent.a2a_listed, agent.a2a_token) == (False, True, None)


def test_saving_tools_leaves_a2a_on_which_was_switched_on_alone(visitor: Visitor, hermes: Agent) -> None:
    a2a.replace(hermes, {"enabled": True})
    page = visitor.open(place(hermes, "tools"))
    ticked = {str(one.attributes["value"]) for one in page.all("input", name="toolset") if "checked" in one.attributes}
    assert ticked == {"file", "memory", "session_search", "todo", "skills", "a2a"}


def test_peers_are_named_with_tokens_which_are_not_shown_and_removed(visitor: Visitor, running: Agent) -> None:
    for name, token in (("ann", "secret-of-ann"), ("bob", "")):
        given = {"name": name, "url": f"https://{name}.example.com/a2a", "token": token}
        visitor.follow(send(visitor, running, "a2a", "/peers", **given))
    agent = settle(running)
    assert agent.a2a_peers == [
        {"name": "ann", "url": "https://ann.example.com/a2a", "token": "secret-of-ann"},
        {"name": "bob", "url": "https://bob.example.com/a2a"},
    ]
    page = visitor.open(place(agent, "a2a"))
    assert "ann https://ann.example.com/a2a with a token" in text(page)
    assert "bob https://bob.example.com/a2a without a token" in text(page)
    assert "secret-of-ann" not in page.html
    assert "There is a peer of this name" in said(
        send(visitor, agent, "a2a", "/peers", name="ann", url="https://x.example")
    )
    token = page.all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    visitor.post(place(agent, "a2a/peers/remove"), name="bob", csrfmiddlewaretoken=token)
    assert [one["name"] for one in settle(agent).a2a_peers or []] == ["ann"]
    assert (settle(agent).a2a_peers or [])[0]["token"] == "secret-of-ann"


def test_a_peer_that_cannot_be_is_said(visitor: Visitor, running: Agent) -> None:
    for typed in ({"name": ""}, {"name": "x", "url": "x"}, {"name": "x" * 81}):
        answer = send(visitor, running, "a2a", "/peers", **{"url": "https://x.example", **typed})
        assert "Enter a name, and the address of the peer" in said(answer)
    assert settle(running).a2a_peers is None


def test_a_strangers_agent_is_not_there(running: Agent, stranger: User) -> None:
    other = Visitor(stranger).client
    for page in ("mcp", "mcp/command", "mcp/test", "mcp/remove", "a2a", "a2a/token", "a2a/peers", "a2a/peers/remove"):
        assert other.get(place(running, page)).status_code == 404
