"""The front page."""

from __future__ import annotations

import pytest
from django.conf import settings
from pytest_django import DjangoAssertNumQueries
from pytest_django import Settings as SettingsFixture
from rest_framework.test import APIClient

from accounts.models import User
from catalog import snapshot, version
from catalog.models import Engine, Persona, Tier
from catalog.vocabulary import Category
from tests.pages.page import Open

pytestmark = [pytest.mark.unmeasured, pytest.mark.usefixtures("catalog")]


def test_it_shows_three_personas_of_each_category_and_leads_to_each(open_page: Open) -> None:
    page = open_page("/en/")
    cards = [one for one in page.all("li") if one.has("card")]
    assert len(cards) == 3 * len(Category.values)
    for link in (one for one in page.all("a") if one.within[-1].has("card")):
        assert open_page(link.attributes["href"]).canonical == link.attributes["href"]


def test_prices_are_those_of_the_plans(open_page: Open) -> None:
    Tier.objects.get(id="tiny").save()
    Tier.objects.filter(id="small").update(monthly_usd="9.50")
    snapshot.forget()
    plans = next(one for one in open_page("/en/").all("ul") if one.has("plans")).text.split()
    assert {"$5", "$50", "$9.50", "$95", "$19", "$190", "$39", "$390"} <= set(plans)


def test_the_free_days_follow_the_settings(open_page: Open, settings: SettingsFixture) -> None:
    settings.TRIAL_DAYS, settings.MAX_FREE_AGENTS, settings.KEPT_DAYS = 21, 5, 30
    english, russian = open_page("/en/").html, open_page("/ru/").html
    assert "The first 21 days are free" in english
    assert "You can have 5 agents without paying." in english
    assert "30 days later" in english
    assert "Первые 21 день бесплатно" not in russian
    assert "Первый 21 день бесплатно" in russian


def test_only_engines_that_can_be_chosen_are_shown(open_page: Open) -> None:
    Engine.objects.filter(id="openclaw").update(hidden=True)
    snapshot.forget()
    page = open_page("/en/")
    engines = next(one for one in page.all("ul") if one.has("engines")).text
    assert "Hermes" in engines
    assert "OpenClaw" not in page.html


def test_an_operators_own_words_are_shown_as_english(open_page: Open) -> None:
    Engine.objects.get(id="pi").save()
    Engine.objects.filter(id="pi").update(description="Tuned by us.")
    snapshot.forget()
    told = next(one for one in open_page("/ru/").all("p") if one.text == "Tuned by us.")
    assert told.attributes["lang"] == "en"


def test_a_persona_of_the_community_is_on_the_page_as_the_newest(open_page: Open, community: Persona) -> None:
    text = open_page("/en/").one("section", id="personas").text
    assert "New from the community" in text
    assert "Night Owl" in text
    assert "Most used" not in text


def test_questions_are_answered_for_search_engines_too(open_page: Open) -> None:
    page = open_page("/tr/")
    asked = [one.text for one in page.all("summary") if one.within[-1].within[-1].has("questions")]
    graph = page.graph
    assert [one["name"] for one in graph["FAQPage"]["mainEntity"]] == asked
    assert (graph["WebSite"]["inLanguage"], graph["FAQPage"]["inLanguage"]) == ("tr", "tr")
    assert graph["WebSite"]["url"] == f"{settings.BASE_URL}/tr/"


def test_an_empty_catalog_has_a_page(api: APIClient) -> None:
    Persona.objects.all().delete()
    Tier.objects.all().delete()
    Engine.objects.all().delete()
    snapshot.forget()
    assert api.get("/").status_code == 200


def test_however_many_personas_there_are_pages_are_bounded_and_cost_no_query(
    api: APIClient, author: User, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    rows = [
        Persona(
            id=f"p-{number}", name=f"Persona {number}", tagline="Helps", for_who="People", does=["Helps"], icon="x",
            category=Category.values[number % 8], tier="tiny", channels=["web"], soul="You help.", status="published",
            owner=author, author="O", deployed_count=number,
        )
        for number in range(1_200)
    ]  # fmt: skip
    Persona.objects.bulk_create(rows, batch_size=400)
    version.bump()
    snapshot.forget()
    first = api.get("/en/")
    assert len(first.content) < 80_000
    assert first.content.count(b'class="card"') == 3 * 8 + 8 + 8
    assert b"Persona 1199" in first.content
    # So that a slow machine does not check the catalog again during the test.
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 60.0)
    snapshot.current()
    paths = ("/en/", "/ru/p/p-77", "/es/c/fun/7", "/sitemap.xml", "/sitemaps/7.xml")
    with django_assert_num_queries(0):
        sizes = [len(api.get(path).content) for path in paths]
    assert max(sizes) < 1_600_000
