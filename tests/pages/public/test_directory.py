"""The public directory, as a page for people and as a catalog for crawlers."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import pods
from tests.agents.conftest import MakeAgent, enter_catalog, settle
from tests.pages.page import Page

LANGUAGES = ["en", "ru", "es", "pt", "tr", "id"]


@pytest.fixture
def catalog(db: None) -> None:
    enter_catalog()


@pytest.fixture
def listed(make_agent: MakeAgent) -> list[Agent]:
    agents = [settle(make_agent(name=name)) for name in ("Ada <b>", "Bob")]
    Agent.objects.update(a2a_enabled=True, a2a_listed=True, a2a_token="secret-token")
    return agents


def opened(api: APIClient, path: str, **query: Any) -> Page:
    answer = api.get(path, query)
    assert answer.status_code == 200
    return Page(answer.content.decode())


def names(page: Page) -> list[str]:
    return [one.text for one in page.all("span") if one.has("name")]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_page_lists_them_in_each_language_without_scripts_and_secrets(
    api: APIClient, listed: list[Agent], lang: str
) -> None:
    page = opened(api, f"/{lang}/directory")
    assert names(page) == ["Bob", "Ada <b>"]
    assert page.one("html").attributes["lang"] == lang
    assert page.all("script") == []
    assert not [secret for secret in ("secret-token", "owner@", listed[0].user_id) if secret in page.html]
    assert f"{pods.public_url(listed[1])}/a2a/.well-known/agent-card.json" in page.html


def test_words_are_looked_for_and_pages_follow(
    api: APIClient, listed: list[Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.public.directory.ON_A_PAGE", 1)
    assert names(opened(api, "/en/directory", q="bob")) == ["Bob"]
    assert "No agent was found" in opened(api, "/en/directory", q="nobody-is-called-so").html
    first = opened(api, "/en/directory")
    link = next(one for one in first.all("a") if one.attributes.get("rel") == "next").attributes["href"]
    assert names(opened(api, str(link).removeprefix(settings.BASE_URL))) == ["Ada <b>"]


@pytest.mark.parametrize("query", ["q=%00", "q=%ff%fe", f"q={'a' * 5000}", "cursor=nonsense", "q=a&q=b", "q='|!:*"])
def test_whatever_is_asked_there_is_a_page(api: APIClient, catalog: None, query: str) -> None:
    assert api.get(f"/directory?{query}").status_code == 200


def test_the_language_can_be_asked_for(api: APIClient, catalog: None) -> None:
    answer = api.get("/directory?lang=ru&q=x")
    assert (answer.status_code, answer["Location"]) == (302, f"{settings.BASE_URL}/ru/directory?q=x")


def test_crawlers_find_the_same_in_the_format_of_ai_catalogs(api: APIClient, listed: list[Agent]) -> None:
    answer = api.get("/.well-known/ai-catalog.json")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/ai-catalog+json")
    body = answer.json()
    assert (body["specVersion"], body["host"]["displayName"]) == ("1.0", "Agentpods")
    newest, oldest = body["entries"]
    assert newest["type"] == "application/a2a-agent-card+json"
    assert newest["url"] == f"{pods.public_url(listed[1])}/a2a/.well-known/agent-card.json"
    assert newest["identifier"].endswith(f":a2a:{listed[1].id}")
    assert oldest["identifier"] != newest["identifier"]
    assert "secret-token" not in answer.content.decode()


def test_what_does_not_fit_is_a_catalog_of_its_own(api: APIClient, listed: list[Agent]) -> None:
    entry, more = api.get("/.well-known/ai-catalog.json", {"limit": 1}).json()["entries"]
    assert more["type"] == "application/ai-catalog+json"
    assert "/.well-known/ai-catalog.json?" in more["url"]
    rest = api.get(more["url"].removeprefix(settings.BASE_URL)).json()["entries"]
    assert [one["type"] for one in rest] == [entry["type"]]
    assert api.get("/.well-known/ai-catalog.json", {"limit": 9_999}).json()["error"] == "BAD_REQUEST"
