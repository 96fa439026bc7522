"""/create: from a persona to an agent, with forms alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts import replies
from accounts.models import User
from agents.models import Agent
from config.crypto import sha256
from tests.agents.conftest import PERSONA, MakeAgent
from tests.doubles.provider import ModelVendor
from tests.doubles.runtime import ScriptedRuntime
from tests.pages.account.visitor import Visitor, text
from tests.pages.page import Page

CHOICE = f"persona={PERSONA}&tier=tiny&engine=pi"
KEY = f"/create/key?{CHOICE}"

pytestmark = pytest.mark.usefixtures("catalog")


@pytest.fixture
def visitor(owner: User, runtime: ScriptedRuntime) -> Visitor:
    return Visitor(owner)


def checked(page: Page, name: str) -> str:
    [one] = [one for one in page.all("input", name=name) if "checked" in one.attributes]
    return str(one.attributes["value"])


def send(visitor: Visitor, place: str = KEY, **typed: str) -> Any:
    return visitor.send(visitor.open(place), place, **typed)


def test_a_personas_page_leads_to_its_form_with_the_plan_and_engine_that_fit_and_to_the_choice(
    visitor: Visitor,
) -> None:
    page = visitor.open(f"/en/p/{PERSONA}")
    assert page.all("a", href=f"/create?persona={PERSONA}&lang=en")
    [form, _] = page.all("a", href=f"/create/key?persona={PERSONA}&lang=en")
    page = visitor.open(visitor.client.get(form.attributes["href"]).headers["Location"])
    assert "Tiny Pi" in text(page)
    chosen = f"/create/key?persona={PERSONA}&tier=tiny&engine=pi"
    assert page.all("form", action=chosen)
    agent = visitor.follow(visitor.send(page, chosen, name="Straight")).one("h1")
    assert (agent.text.split()[0], Agent.objects.get().tier) == ("Straight", "tiny")


def test_who_is_not_signed_in_chooses_and_keeps_the_choice_over_the_sign_in() -> None:
    stranger = Visitor()
    page = stranger.open(f"/create?persona={PERSONA}")
    assert (checked(page, "tier"), checked(page, "engine")) == ("tiny", "pi")
    answer = stranger.client.get(KEY)
    assert answer.status_code == 303
    there = answer.headers["Location"]
    assert there.startswith("/sign-in?next=%2Fcreate%2Fkey%3Fpersona")
    assert stranger.open(there).all("form", method="post")[0].attributes["action"] == there


def test_the_larger_plans_are_not_offered_to_whom_does_not_pay(visitor: Visitor, settings: Settings) -> None:
    settings.MAX_TRIAL_TIER = "small"
    page = visitor.open(f"/create?persona={PERSONA}")
    assert [one.attributes["value"] for one in page.all("input", name="tier")] == ["tiny", "small"]
    answer = visitor.client.get(f"/create/key?persona={PERSONA}&tier=large&engine=pi")
    assert answer.status_code == 400
    assert "This plan is for agents that are paid for" in answer.content.decode()


def test_a_plan_that_is_too_small_for_the_engine_is_said_beside_the_choice(visitor: Visitor) -> None:
    page = visitor.open(f"/create/key?persona={PERSONA}&tier=tiny&engine=hermes", status=400)
    assert "Hermes needs the plan Small or a larger one." in text(page)
    assert (checked(page, "tier"), checked(page, "engine")) == ("tiny", "hermes")


def test_an_agent_is_made_as_it_was_chosen_and_its_page_is_shown(visitor: Visitor, owner: User) -> None:
    answer = send(visitor, name="  My   tutor ", provider="openai", key=" sk-of-mine ")
    agent = Agent.objects.get()
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/account/agents/{agent.pk}")
    assert (agent.user, agent.name, agent.persona_id, agent.tier, agent.engine) == (
        owner, "My tutor", PERSONA, "tiny", "pi",
    )  # fmt: skip
    assert (agent.llm_provider, agent.llm_key, agent.channels, agent.lang) == ("openai", "sk-of-mine", ["web"], "en")
    page = visitor.follow(answer)
    assert page.all("a", href=f"/account/agents/{agent.pk}")
    assert "It is being started. Look again" in text(page)


def test_it_is_made_without_a_key_and_says_that_it_lacks_one(visitor: Visitor) -> None:
    page = visitor.follow(send(visitor, name="Silent"))
    agent = Agent.objects.get()
    assert (agent.llm_key, agent.llm_provider) == (None, None)
    assert "Silent" in text(page)


def test_the_same_form_sent_twice_makes_one_agent(visitor: Visitor) -> None:
    page = visitor.open(KEY)
    first, second = (visitor.send(page, KEY, name="Once") for _ in range(2))
    assert first.headers["Location"] == second.headers["Location"]
    assert Agent.objects.count() == 1


def test_a_form_whose_twin_is_still_on_its_way_says_so(visitor: Visitor, owner: User) -> None:
    page = visitor.open(KEY)
    once = page.one("input", name="once").attributes["value"] or ""
    fingerprint = sha256(repr([CHOICE, "Once", None]))
    replies.reserve(owner, method="POST", path="/create/key", key=once, fingerprint=fingerprint, now=timezone.now())
    answer = visitor.send(page, KEY, name="Once")
    assert answer.status_code == 409
    assert "This agent is being created already." in text(Page(answer.content.decode()))
    assert not Agent.objects.exists()


def test_a_key_that_its_provider_refuses_is_said_and_not_shown(visitor: Visitor, settings: Settings) -> None:
    with ModelVendor() as provider:
        provider.answer = lambda handler: handler.whole(401, b"{}")
        settings.LLM_KEY_CHECK, settings.LLM_BASE_URLS = True, {"openai": f"{provider.url}/v1"}
        answer = send(visitor, name="Mine", provider="openai", key="sk-wrong-0815")
    page = Page(answer.content.decode())
    assert answer.status_code == 400
    assert "The provider does not take this key." in text(page)
    assert "sk-wrong-0815" not in answer.content.decode()
    assert page.one("input", name="name").attributes["value"] == "Mine"
    assert not Agent.objects.exists()


def test_a_refused_form_can_be_sent_again(visitor: Visitor) -> None:
    refused = send(visitor, name="Mine", provider="openai", key="with space")
    page = Page(refused.content.decode())
    assert visitor.send(page, KEY, name="Mine", provider="openai", key="sk-right").status_code == 303
    assert Agent.objects.count() == 1


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"name": "x" * 500}, "Enter a shorter name"),
        ({"name": "Mine", "key": "sk-1", "provider": ""}, "Choose the provider"),
        ({"name": "Mine", "key": "sk-1", "provider": "acme"}, "Choose the provider"),
        ({"name": "Mine", "key": "clé", "provider": "openai"}, "does not take this key"),
    ],
)
def test_what_is_wrong_is_said_in_words(visitor: Visitor, typed: dict[str, str], said: str) -> None:
    answer = send(visitor, **typed)
    assert answer.status_code == 400
    assert said in text(Page(answer.content.decode()))
    assert not Agent.objects.exists()


def test_the_last_free_agent_is_the_last(visitor: Visitor, make_agent: MakeAgent, settings: Settings) -> None:
    settings.MAX_FREE_AGENTS = 1
    make_agent()
    answer = send(visitor, name="Second")
    assert "You have 1 free agent and may not have more." in text(Page(answer.content.decode()))


def test_an_engine_that_needs_a_domain_asks_for_one(visitor: Visitor, settings: Settings) -> None:
    settings.MAX_TRIAL_TIER = "medium"
    place = f"/create/key?persona={PERSONA}&tier=medium&engine=n8n"
    page = visitor.open(place)
    page.one("input", name="domain")
    answer = visitor.send(page, place, name="Flows", domain="not a domain")
    assert "needs a domain of your own" in text(Page(answer.content.decode()))


@pytest.mark.parametrize(
    "query",
    [
        "persona=nobody",
        f"persona={PERSONA}&tier=huge",
        f"persona={PERSONA}&engine=x",
        "persona=%00",
        "persona=" + "x" * 5000,
    ],
)
def test_a_choice_that_does_not_exist_is_a_refusal_and_no_fault(visitor: Visitor, query: str) -> None:
    for page in ("/create", "/create/key"):
        assert 400 <= visitor.client.get(f"{page}?{query}").status_code < 500


def test_without_a_persona_one_is_chosen_first(visitor: Visitor) -> None:
    assert visitor.client.get("/create").headers["Location"].endswith("#personas")


def test_another_sites_form_makes_nothing(visitor: Visitor) -> None:
    assert visitor.post(KEY, name="Forged", once="0123456789abcdef").status_code == 403
    assert not Agent.objects.exists()


def test_who_goes_back_and_changes_the_form_may_make_another_agent(visitor: Visitor) -> None:
    page = visitor.open(KEY)
    assert visitor.send(page, KEY, name="First").status_code == 303
    answer = visitor.send(page, KEY, name="Second")
    assert answer.status_code == 422
    again = Page(answer.content.decode())
    assert "This form has already created an agent." in text(again)
    assert Agent.objects.count() == 1
    assert visitor.send(again, KEY).status_code == 303
    assert set(Agent.objects.values_list("name", flat=True)) == {"First", "Second"}
