"""An agent's settings, channels, tools and test, by forms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

import pytest
from pytest_django import Settings

from accounts.models import User
from agents.configuring import profile
from agents.models import Agent
from config.errors import BadRequest
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.pages.account.visitor import Visitor, fields, text
from tests.pages.page import Page

Boxes = Iterable[tuple[str, str]]


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


@pytest.fixture
def hermes(make_agent: MakeAgent, settings: Settings) -> Agent:
    settings.MAX_TRIAL_TIER = "small"
    return settle(make_agent(engine="hermes", tier="small"))


def send(visitor: Visitor, agent: Agent, page: str, *, boxes: Boxes = (), **typed: Any) -> Any:
    """Send the page's form with exactly these boxes ticked."""
    place = f"/account/agents/{agent.pk}/{page}"
    shown = visitor.open(place)
    hidden = {"csrfmiddlewaretoken": fields(shown, shown.one("form", action=place))["csrfmiddlewaretoken"]}
    body = urlencode([*hidden.items(), *typed.items(), *boxes])
    return visitor.client.post(place, body, content_type="application/x-www-form-urlencoded")


def said(answer: Any, *, status: int = 400) -> str:
    assert answer.status_code == status, answer.content
    return text(Page(answer.content.decode()))


def ticked(page: Page, name: str) -> set[str]:
    boxes = page.all("input", name=name)
    return {str(one.attributes["value"]) for one in boxes if "checked" in one.attributes}


def test_plain_settings_are_changed(visitor: Visitor, running: Agent) -> None:
    typed: dict[str, Any] = {
        "name": "Zorblax",
        "lang": "ru",
        "timezone": "Asia/Tokyo",
        "extra_soul": "I am Ann.\r\nBe brief. ",
    }
    assert send(visitor, running, "settings", **typed).status_code == 303
    agent = settle(running)
    assert (agent.name, agent.lang, agent.timezone, agent.extra_soul) == (
        "Zorblax", "ru", "Asia/Tokyo", "I am Ann.\nBe brief.",
    )  # fmt: skip
    page = visitor.open(f"/account/agents/{agent.pk}/settings")
    assert page.one("input", name="timezone").attributes["value"] == "Asia/Tokyo"
    assert send(visitor, agent, "settings", name="Zorblax", lang="ru", timezone="", extra_soul="").status_code == 303
    agent.refresh_from_db()
    assert (agent.timezone, agent.extra_soul) == (None, None)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"name": " "}, "Enter a shorter name"),
        ({"name": "x", "timezone": "Mars/Base"}, "Choose a time zone from the list"),
        ({"name": "x", "extra_soul": "x" * 4_001}, "These instructions are too long."),
    ],
)
def test_wrong_settings_are_said_and_nothing_is_changed(
    visitor: Visitor, running: Agent, typed: dict[str, Any], words: str
) -> None:
    assert words in said(send(visitor, running, "settings", **{"lang": "en", **typed}))
    assert Agent.objects.get().spec_revision == running.spec_revision


def test_what_was_typed_is_kept_where_it_is_refused(visitor: Visitor, running: Agent) -> None:
    answer = send(visitor, running, "settings", name="<b>Mine</b>", timezone="<x>")
    assert Page(answer.content.decode()).one("input", name="name").attributes["value"] == "<b>Mine</b>"


def test_an_engine_on_the_web_alone_says_so(visitor: Visitor, running: Agent) -> None:
    page = visitor.open(f"/account/agents/{running.pk}/channels")
    assert "Pi works on the web only." in text(page)
    assert not page.all("input", name="channel")


def test_a_channel_is_connected_with_its_secret_which_is_not_shown(visitor: Visitor, hermes: Agent) -> None:
    answer = send(visitor, hermes, "channels", boxes=[("channel", "telegram")], telegramToken="  1:abc ")
    assert answer.status_code == 303
    agent = settle(hermes)
    assert (agent.channels, agent.channel_secrets) == (["web", "telegram"], {"telegramToken": "1:abc"})
    page = visitor.open(f"/account/agents/{agent.pk}/channels")
    assert ticked(page, "channel") == {"telegram"}
    assert page.all("form", action=f"/account/agents/{agent.pk}/talk-test", method="post")
    assert "1:abc" not in visitor.client.get(f"/account/agents/{agent.pk}/channels").content.decode()
    assert send(visitor, agent, "channels", boxes=[("channel", "telegram")]).status_code == 303
    assert settle(agent).channel_secrets == {"telegramToken": "1:abc"}
    assert send(visitor, agent, "channels").status_code == 303
    assert settle(agent).channels == ["web"]
    page = visitor.open(f"/account/agents/{agent.pk}/channels")
    assert not page.all("form", action=f"/account/agents/{agent.pk}/talk-test")


def test_a_channel_without_its_secrets_is_said(visitor: Visitor, hermes: Agent) -> None:
    answer = send(visitor, hermes, "channels", boxes=[("channel", "email")], emailAddress="a@example.com")
    assert "fill in all fields of what you have chosen" in said(answer)
    assert settle(hermes).channels == ["web"]


def test_the_usual_tools_are_ticked_and_others_can_be(visitor: Visitor, hermes: Agent) -> None:
    page = visitor.open(f"/account/agents/{hermes.pk}/tools")
    assert ticked(page, "toolset") == {"file", "memory", "session_search", "todo", "skills"}
    boxes = [("toolset", "file"), ("toolset", "terminal"), ("toolset", "a2a")]
    assert send(visitor, hermes, "tools", boxes=boxes).status_code == 303
    agent = settle(hermes)
    assert (agent.tools_enabled, agent.a2a_enabled) == (["file", "terminal", "a2a"], True)


def test_a_tool_with_a_key_asks_for_it_once(visitor: Visitor, hermes: Agent) -> None:
    boxes = [("toolset", "web")]
    assert "fill in all fields" in said(send(visitor, hermes, "tools", boxes=boxes))
    assert send(visitor, hermes, "tools", boxes=boxes, tavily=" tvly-1 ").status_code == 303
    assert send(visitor, hermes, "tools", boxes=boxes).status_code == 303
    agent = settle(hermes)
    assert (agent.tools_enabled, agent.tool_secrets) == (["web"], {"tavily": "tvly-1"})
    assert "tvly-1" not in visitor.client.get(f"/account/agents/{agent.pk}/tools").content.decode()


def test_a_form_takes_no_longer_secrets_than_the_api(visitor: Visitor, hermes: Agent) -> None:
    """Secrets reach the pod in its start document, and a cluster keeps that in a Secret of limited size."""
    long = "x" * 1_001
    said(send(visitor, hermes, "channels", boxes=[("channel", "telegram")], telegramToken=long))
    said(send(visitor, hermes, "channels", telegramToken=long))
    said(send(visitor, hermes, "tools", boxes=[("toolset", "web")], tavily=long))
    assert (settle(hermes).channel_secrets, settle(hermes).tool_secrets) == ({}, None)


def test_what_no_column_can_hold_is_left_out_or_refused(visitor: Visitor, hermes: Agent) -> None:
    assert send(visitor, hermes, "settings", name="x", lang="en", extra_soul="Be\0 brief.").status_code == 303
    assert settle(hermes).extra_soul == "Be brief."
    assert send(visitor, hermes, "settings", name="a\0b", lang="en").status_code == 400
    assert send(visitor, hermes, "channels", telegramToken="a\0b").status_code == 400
    with pytest.raises(BadRequest, match="extraSoul"):
        profile.check_extra_soul("a\0b")


def test_servers_stay_as_they_are(visitor: Visitor, hermes: Agent) -> None:
    server = {"name": "crm", "url": "https://crm.example/mcp"}
    hermes.mcp_servers = [server]
    hermes.save(update_fields=["mcp_servers"])
    assert send(visitor, hermes, "tools", boxes=[("toolset", "file")]).status_code == 303
    assert settle(hermes).mcp_servers == [server]


def test_a_test_says_which_hop_is_silent(visitor: Visitor, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running, llm_key=None)
    place = f"/account/agents/{running.pk}"
    page = Page(visitor.send(visitor.open(place), f"{place}/talk-test").content.decode())
    assert "Some parts do not answer." in text(page)
    assert "Its gateway answers" in text(page)
    assert "Its model no answer" in text(page)


def test_a_test_of_one_that_starts_says_to_wait_and_blames_no_hop_that_was_not_tried(
    visitor: Visitor, make_agent: MakeAgent
) -> None:
    place = f"/account/agents/{make_agent().pk}"
    page = Page(visitor.send(visitor.open(place), f"{place}/talk-test").content.decode())
    assert "It is still being started. Wait a minute, then test it again." in text(page)
    assert "Its gateway no answer" in text(page)
    assert "Its engine not tried" in text(page)
    assert "the gateway is silent" not in text(page)


def test_a_stopped_agent_is_not_tested(visitor: Visitor, running: Agent) -> None:
    page = visitor.open(f"/account/agents/{running.pk}")
    visitor.send(page, f"/account/agents/{running.pk}/pause")
    settle(running)
    answer = visitor.send(page, f"/account/agents/{running.pk}/talk-test")
    assert "This cannot be done while the agent is: stopped." in said(answer, status=409)


@pytest.mark.parametrize("page", ["settings", "channels", "tools", "talk-test"])
def test_a_strangers_agent_is_not_there(running: Agent, stranger: User, page: str) -> None:
    assert Visitor(stranger).client.get(f"/account/agents/{running.pk}/{page}").status_code == 404
