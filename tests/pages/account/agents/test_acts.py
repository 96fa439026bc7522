"""Actions on an agent's page, each by a form: model key, pause, start, rebuild, delete."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from agents.models import Agent, Desired, Status
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.pages.account.visitor import Visitor, text
from tests.pages.page import Page


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def page_of(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}"


def send(visitor: Visitor, agent: Agent, act: str, *, on: str = "", **typed: str) -> Any:
    """Send the form of this action on its page."""
    return visitor.send(visitor.open(f"{page_of(agent)}{on}"), f"{page_of(agent)}/{act}", **typed)


def test_it_is_paused_and_started_again(visitor: Visitor, running: Agent) -> None:
    assert send(visitor, running, "pause").headers["Location"] == page_of(running)
    assert settle(running).status == Status.STOPPED
    page = visitor.open(page_of(running))
    assert "You paused it." in text(page)
    assert not page.all("form", action=f"{page_of(running)}/pause")
    send(visitor, running, "resume")
    assert settle(running).status == Status.RUNNING
    assert running.transitions.filter(reason="owner", actor=f"user:{running.user_id}").exists()


def test_one_that_is_being_stopped_says_so_and_offers_nothing_that_is_refused(visitor: Visitor, running: Agent) -> None:
    send(visitor, running, "pause")
    page = visitor.open(page_of(running))
    assert page.one("span", class_="state running").text == "stopping"
    assert "stopping" in text(visitor.open("/account"))
    assert len(page.all("p", **{"data-look-again": ""})) == 1, "the page shows by itself that it has stopped"
    for act in ("ticket", "talk-test", "pause"):
        assert not page.all("form", action=f"{page_of(running)}/{act}")
    assert page.all("form", action=f"{page_of(running)}/resume")


def test_it_is_built_again_after_a_question(visitor: Visitor, running: Agent) -> None:
    before = running.generation
    assert send(visitor, running, "rebuild", on="/rebuild").status_code == 303
    assert settle(running).generation == before + 1


def test_one_that_starts_has_no_acts_but_its_deletion(visitor: Visitor, make_agent: MakeAgent) -> None:
    agent = make_agent()
    page = visitor.open(page_of(agent))
    for act in ("pause", "resume", "rebuild"):
        assert not [one for one in page.all("form") if one.attributes["action"].endswith(act)]
    assert page.all("a", href=f"{page_of(agent)}/delete")


def test_an_act_that_came_too_late_says_so_on_the_page(visitor: Visitor, running: Agent) -> None:
    page = visitor.open(f"{page_of(running)}/rebuild")
    visitor.send(page, f"{page_of(running)}/rebuild")
    answer = visitor.send(page, f"{page_of(running)}/rebuild")
    assert answer.status_code == 409
    assert "This cannot be done while the agent is: starting." in text(Page(answer.content.decode()))


def test_one_that_is_not_paid_for_leads_to_paying(visitor: Visitor, running: Agent) -> None:
    send(visitor, running, "pause")
    settle(running)
    past = timezone.now() - timedelta(days=60)
    Agent.objects.filter(pk=running.pk).update(entitled_until=past, trial_ends_at=past)
    answer = visitor.send(visitor.open(page_of(running)), f"{page_of(running)}/resume")
    assert answer.status_code == 409
    page = Page(answer.content.decode())
    assert "Its free time is over. Pay for it first" in text(page)
    assert page.all("a", href=f"/renew/{running.pk}")


def test_it_is_deleted_by_who_types_its_name(visitor: Visitor, make_agent: MakeAgent) -> None:
    agent = settle(make_agent(name="Captain  Zorblax"))
    wrong = send(visitor, agent, "delete", on="/delete", name="captain")
    assert wrong.status_code == 400
    assert "Nothing was deleted." in text(Page(wrong.content.decode()))
    assert send(visitor, agent, "delete", on="/delete", name=" Captain Zorblax ").status_code == 303
    agent.refresh_from_db()
    assert agent.desired == Desired.DELETED
    assert visitor.client.get(page_of(agent)).status_code == 404


def test_one_without_a_key_is_given_one(visitor: Visitor, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running)
    page = visitor.open(page_of(running))
    assert len(page.all("a", href=f"{page_of(running)}/model-key", class_="button")) == 1
    answer = send(visitor, running, "model-key", on="/model-key", key=" sk-mine ", provider="openai", model="")
    assert answer.status_code == 303
    agent = settle(running)
    assert (agent.llm_provider, agent.llm_key, agent.model) == ("openai", "sk-mine", None)
    assert "sk-mine" not in visitor.client.get(f"{page_of(agent)}/model-key").content.decode()


def test_an_empty_key_keeps_the_present_one(visitor: Visitor, running: Agent) -> None:
    send(visitor, running, "model-key", on="/model-key", key="sk-mine", provider="openai", model="")
    send(visitor, running, "model-key", on="/model-key", key="", provider="openai", model="openai:gpt-6-luna")
    agent = settle(running)
    assert (agent.llm_key, agent.model) == ("sk-mine", "openai:gpt-6-luna")
    page = visitor.open(f"{page_of(agent)}/model-key")
    assert [one.attributes["value"] for one in page.all("option") if "selected" in one.attributes] == [
        "openai", "openai:gpt-6-luna",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"key": "a b", "provider": "openai"}, "does not take this key"),
        ({"key": "sk-1", "provider": "acme"}, "Choose the provider"),
        ({"key": "sk-1", "provider": "openai", "model": "anthropic:claude-opus-5-5"}, "another provider"),
        ({"key": "sk-1", "provider": "openai", "model": "x"}, "another provider"),
    ],
)
def test_what_is_wrong_with_a_key_is_said(
    visitor: Visitor, running: Agent, settings: Settings, typed: dict[str, str], said: str
) -> None:
    answer = send(visitor, running, "model-key", on="/model-key", **typed)
    assert answer.status_code == 400
    assert said in text(Page(answer.content.decode()))
    assert settle(running).llm_key is None


@pytest.mark.parametrize("act", ["pause", "resume", "rebuild", "delete", "model-key"])
def test_a_strangers_agent_is_not_there(running: Agent, stranger: User, act: str) -> None:
    other = Visitor(stranger)
    assert other.client.get(f"{page_of(running)}/{act}").status_code == 404
    mine = Visitor(running.user)
    token = mine.open(page_of(running)).all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
    assert other.post(f"{page_of(running)}/{act}", csrfmiddlewaretoken=token).status_code in {403, 404}
    assert settle(running).status == Status.RUNNING
