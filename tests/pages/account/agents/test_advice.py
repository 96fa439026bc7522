"""For each problem of an agent, its page has a button that helps."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from agents.cause import Cause
from agents.errors import renew_url
from agents.models import Agent, ChannelState, Reason
from agents.running import lifecycle
from agents.watching import explanation
from agents.watching.causes import Explanation
from pages.account import words
from pages.account.agents import advice
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.config.conftest import ROOT
from tests.pages.account.visitor import Visitor, text
from tests.pages.page import Page

# From the API call that the explanation names, to the button's target below the agent's page.
BUTTONS = {
    "PATCH /agents/{id}/llm-key": "model-key",
    "POST /agents/{id}/resume": "resume",
    "POST /agents/{id}/rebuild": "rebuild",
    "PUT /agents/{id}/channels": "channels",
    "PUT /agents/{id}/domain": "domain",
    "GET /domain-check?domain=bot.example.org": "domain",
    "POST /agents/{id}/talk-test": "talk-test",
    "POST /agents/{id}/backups": "backups",
    "PUT /agents/{id}/limits": "limits",
    "GET /agents/{id}/quota": "usage",
    "PATCH /agents/{id}": "free-plan",
    "GET /agents/{id}/liveness": "",
    "GET /agents/{id}": "",
}


def page_of(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}"


def helps(page: Page) -> list[str]:
    """The targets of the most prominent buttons in the status."""
    links = [
        one.attributes["href"] for one in page.all("a", class_="button") if "/renew/" not in one.attributes["href"]
    ]
    strong = [one for one in page.all("button", class_="button") if one.attributes.get("type") == "submit"]
    forms = [up.attributes["action"] for one in strong for up in one.within if up.tag == "form"]
    return [*links, *forms]


def test_every_cause_has_words_for_people() -> None:
    assert set(words.CAUSES) == set(Cause)
    assert {reason.upper() for reason in explanation.STOP_MESSAGES} <= set(Cause)


def test_every_call_that_explain_names_has_a_button_that_leads_to_a_page(visitor: Visitor, running: Agent) -> None:
    calls = [*(call.replace("{id}", running.pk) for call in BUTTONS), renew_url(running.pk)]
    for call in calls:
        button = advice.button_for(call, running)
        assert button is not None
        assert visitor.client.get(button.href).status_code in {200, 303}, call
    places = [button.act for call in calls[:-1] if (button := advice.button_for(call, running))]
    assert places == list(BUTTONS.values())
    assert advice.button_for(None, running) is None


def test_no_call_of_explain_is_without_a_button() -> None:
    """Read from the source, because a test cannot bring about everything that the explanation may say."""
    text = "".join(
        (ROOT / f"agents/watching/{name}.py").read_text(encoding="utf-8") for name in ("explanation", "causes")
    )
    said = set(re.findall(r'f"(GET|POST|PUT|PATCH|DELETE) (?:/agents/\{agent\.id\})?(/?[a-z-]*)', text))
    said |= set(re.findall(r'_call\("([A-Z]+)", agent, "([a-z-]+)"\)', text))
    said |= {("POST", verb) for verb in re.findall(r'_start\(agent, "([a-z]+)"\)', text)}
    said |= {("PATCH" if verb == "llm-key" else "POST", verb) for _, verb in explanation.MODEL_CAUSES.values()}
    calls = {(method, f"/{verb.removeprefix('/')}" if verb else "") for method, verb in said}
    assert calls == set(advice.PLACES)


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def test_each_cause_has_its_button_and_what_is_shared_has_one(running: Agent) -> None:
    now = timezone.now()
    one = Explanation(status="running", cause="NO_MODEL_KEY", message="", since=now, next="")
    calls = [call.replace("{id}", running.pk) for call in BUTTONS]
    first, *others = [replace(one, next=call) for call in calls]
    found = list(advice.each(replace(first, others=others), running))
    links = [found_one.button.href for found_one in found if found_one.button]
    assert len(links) == len(set(links)) == len(set(BUTTONS.values()))


def test_the_strongest_button_is_the_one_that_helps(
    visitor: Visitor, running: Agent, gateway_of: GatewayOf, settings: Settings
) -> None:
    settings.SUPPORT_EMAIL = "help@example.com"
    gateway_of(running)
    assert helps(visitor.open(page_of(running))) == [f"{page_of(running)}/model-key"]
    lifecycle.pause(running, reason=Reason.OPERATOR, actor="operator:x", why="")
    settle(running)
    page = visitor.open(page_of(running))
    assert helps(page) == [f"{page_of(running)}/resume"]
    assert "Start it again. Write to help@example.com to ask why." in text(page)


def test_a_silent_channel_leads_to_the_channels(
    visitor: Visitor, make_agent: MakeAgent, gateway_of: GatewayOf, settings: Settings
) -> None:
    settings.MAX_TRIAL_TIER = "small"
    agent = settle(make_agent(engine="hermes", tier="small"))
    gateway_of(agent)
    Agent.objects.filter(pk=agent.pk).update(channels=["web", "telegram"], llm_key_hash="0" * 64)
    ChannelState.objects.create(
        agent=agent, channel="telegram", reason="401", told_at=timezone.now(), revision=agent.spec_revision
    )
    page = visitor.open(page_of(agent))
    assert "It runs, but it gets no messages on one of its channels." in text(page)
    assert helps(page) == [f"{page_of(agent)}/channels"]


def test_a_quota_of_the_cluster_is_no_full_disk_of_the_agent(visitor: Visitor, make_agent: MakeAgent) -> None:
    agent = make_agent()
    lifecycle.fail(agent, generation=1, cause="QUOTA", message="exceeded quota", evidence=[], now=timezone.now())
    said = text(visitor.open(page_of(agent)))
    assert "The fault is ours." in said
    assert "for an hour" not in said


def test_a_free_agent_takes_a_larger_plan_and_a_paid_one_is_led_to_paying(
    visitor: Visitor, running: Agent, settings: Settings
) -> None:
    settings.MAX_TRIAL_TIER = "small"
    place = f"{page_of(running)}/free-plan"
    page = visitor.open(place)
    assert [one.attributes["value"] for one in page.all("input", name="tier")] == ["tiny", "small"]
    assert visitor.send(page, place, tier="small").headers["Location"] == page_of(running)
    assert settle(running).tier == "small"
    for tier, words_of_it in (("large", "This plan is for agents that are paid for."), ("x", "Choose one of these")):
        answer = visitor.send(page, place, tier=tier)
        assert answer.status_code == 400
        assert words_of_it in text(Page(answer.content.decode()))
    Agent.objects.filter(pk=running.pk).update(paid=True)
    assert visitor.client.get(place).headers["Location"] == f"/renew/{running.pk}"
    assert visitor.send(page, place, tier="tiny").status_code == 409


def test_a_strangers_plan_is_not_there(running: Agent, stranger: User) -> None:
    assert Visitor(stranger).client.get(f"{page_of(running)}/free-plan").status_code == 404
