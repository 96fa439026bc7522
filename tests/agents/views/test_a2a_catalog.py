"""`GET /a2a-catalog`: which agents it lists, and that it shows nothing of their owners."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent, Desired, Reason
from agents.running import lifecycle, pods
from catalog import snapshot
from catalog.models import Persona
from tests.agents.conftest import MakeAgent, settle

FIELDS = {"id", "name", "personaId", "description", "tags", "lang", "engine", "a2aUrl", "cardUrl", "updatedAt"}


@pytest.fixture
def make_listed(make_agent: MakeAgent, settings: Settings) -> MakeAgent:
    settings.MAX_FREE_AGENTS = 10

    def make(**given: Any) -> Agent:
        agent = settle(make_agent(**given))
        Agent.objects.filter(pk=agent.pk).update(a2a_enabled=True, a2a_listed=True, a2a_token="secret-token")
        agent.refresh_from_db()
        return agent

    return make


def listing(api: APIClient, **query: Any) -> list[dict[str, Any]]:
    answer = api.get("/a2a-catalog", query)
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["agents"]
    return found


def names(api: APIClient, **query: Any) -> list[str]:
    return [one["name"] for one in listing(api, **query)]


def test_a_listed_agent_is_found_by_anybody_and_its_owner_is_not(
    api: APIClient, make_listed: MakeAgent, owner: User
) -> None:
    agent = make_listed(name="Ada", lang="ru")
    (found,) = listing(api)
    assert set(found) == FIELDS
    assert (found["id"], found["name"], found["personaId"]) == (agent.pk, "Ada", agent.persona_id)
    assert (found["lang"], found["engine"]) == ("ru", agent.engine)
    assert found["a2aUrl"] == f"{pods.public_url(agent)}/a2a"
    assert found["cardUrl"] == f"{pods.public_url(agent)}/a2a/.well-known/agent-card.json"
    text = str(found)
    assert not [told for told in (owner.pk, owner.email, "secret-token", agent.management_token) if told in text]


@pytest.mark.parametrize(
    "change",
    [{"a2a_listed": False}, {"a2a_enabled": False}, {"status": "failed"}, {"desired": Desired.DELETED}],
    ids=str,
)
def test_who_is_not_listed_or_not_on_is_not_there(
    api: APIClient, make_listed: MakeAgent, change: dict[str, Any]
) -> None:
    agent = make_listed()
    Agent.objects.filter(pk=agent.pk).update(**change)
    assert listing(api) == []


def test_a_stopped_agent_and_one_of_a_suspended_account_are_not_there(
    api: APIClient, make_listed: MakeAgent, owner: User
) -> None:
    agent = make_listed()
    lifecycle.pause(agent, reason=Reason.OWNER, actor="user:x")
    assert listing(api) == []
    settle(agent)
    settle(lifecycle.resume(agent, actor="user:x"))
    assert len(listing(api)) == 1
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert listing(api) == []


def test_pages_follow_each_other_newest_first(api: APIClient, make_listed: MakeAgent) -> None:
    for name in ("one", "two", "three"):
        make_listed(name=name)
    first = api.get("/a2a-catalog", {"limit": 2})
    assert [one["name"] for one in first.json()["agents"]] == ["three", "two"]
    following = first.headers["Link"].removeprefix("<").removesuffix('>; rel="next"')
    second = api.get("/a2a-catalog?" + following.split("?", 1)[1])
    assert [one["name"] for one in second.json()["agents"]] == ["one"]
    assert "Link" not in second.headers


def test_words_find_names_and_personas(api: APIClient, make_listed: MakeAgent) -> None:
    Persona.objects.filter(pk="exam-coach").update(tagline="Zebras before exams")
    snapshot.forget()
    make_listed(name="Ada Lovelace")
    make_listed(name="Bob", persona_id="exam-coach")
    assert names(api, q="lovelace") == ["Ada Lovelace"]
    assert names(api, q="love ADA") == ["Ada Lovelace"]
    assert names(api, q="lace") == names(api, q="ada nobody") == names(api, q="ada' | !x:*") == []
    assert names(api, q="zebra exams") == ["Bob"]
    assert names(api, q="  ") == ["Bob", "Ada Lovelace"]
    assert names(api, q="%") == names(api, q="nobody-says-this") == []


def test_what_a_persona_that_is_not_public_says_is_not_told(api: APIClient, make_listed: MakeAgent) -> None:
    agent = make_listed()
    Agent.objects.filter(pk=agent.pk).update(persona_id="somebodys-draft")
    (found,) = listing(api)
    assert (found["personaId"], found["description"], found["tags"]) == (None, "", [])


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 201}, {"limit": "x"}, {"cursor": "x"}, {"q": "x" * 101}], ids=str
)
def test_what_cannot_be_asked_is_400(api: APIClient, query: dict[str, Any]) -> None:
    answer = api.get("/a2a-catalog", query)
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")


def test_as_many_agents_cost_as_many_queries(
    api: APIClient, make_listed: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600.0)  # otherwise it checks its version at the end of each second

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            listing(api)
        return len(queries)

    make_listed()
    listing(api)
    one = cost()
    make_listed()
    make_listed()
    assert cost() == one
