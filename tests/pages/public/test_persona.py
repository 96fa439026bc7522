"""The page /p/{slug}."""

from __future__ import annotations

import pytest
from django.conf import settings
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from catalog import snapshot, version
from catalog.models import Article, Persona
from tests.pages.page import Open

pytestmark = pytest.mark.usefixtures("catalog")


def test_it_says_what_a_visitor_needs_to_choose(open_page: Open) -> None:
    persona = Persona.objects.get(id="budget-coach")
    page = open_page("/en/p/budget-coach")
    text = page.one("main").text
    said = [
        persona.name,
        persona.tagline,
        persona.for_who,
        *persona.does,
        *(persona.examples or {}).values(),
        *persona.skills,
    ]
    for expected in [
        *said,
        *persona.tags,
        "$5",
        "$50",
        "512 MB",
        "Pi",
        "The first 7 days are free",
        "Author: Agentpods",
    ]:
        assert expected in text, expected
    assert page.one("h1").text == persona.name


def test_a_demo_is_a_conversation_between_two(open_page: Open) -> None:
    persona = Persona.objects.get(id="exam-coach")
    page = open_page("/en/p/exam-coach")
    lines = [one for one in page.all("li") if one.within[-1].has("talk")]
    assert [one.attributes["class"] for one in lines] == [line["role"] for line in persona.demo or []]
    for line, shown in zip(persona.demo or [], lines, strict=True):
        assert line["text"] in shown.text
        assert ("You" if line["role"] == "user" else persona.name) in shown.text


def test_high_risk_is_said_before_anything_else(open_page: Open) -> None:
    persona = Persona.objects.get(id="budget-coach")
    page = open_page("/en/p/budget-coach")
    assert persona.disclaimer
    assert page.one("aside", class_="caution").text.strip().endswith(persona.disclaimer)
    assert page.html.index(persona.disclaimer) < page.html.index('class="plain talk"')
    assert "caution" not in open_page("/en/p/exam-coach").html


@pytest.mark.parametrize(("lang", "text"), [("ru", "ru"), ("es", "es"), ("pt", "pt"), ("tr", "tr"), ("id", "ind")])
def test_it_is_read_in_the_language_of_the_page(open_page: Open, lang: str, text: str) -> None:
    persona = Persona.objects.get(id="budget-coach").texts[text]
    assert persona.demo
    page = open_page(f"/{lang}/p/budget-coach")
    assert page.lang == lang
    for expected in [persona.name, persona.tagline, persona.for_who, *persona.does, persona.demo[0]["text"]]:
        assert expected in page.one("main").text
    assert persona.disclaimer in page.one("aside", class_="caution").text
    assert page.one("h1").attributes["lang"] == lang
    assert page.meta("og:title") == persona.name


def test_a_persona_without_this_language_is_in_english_and_says_so(open_page: Open, community: Persona) -> None:
    page = open_page("/ru/p/night-owl")
    assert (page.lang, page.one("h1").text, page.one("h1").attributes["lang"]) == ("ru", "Night Owl", "en")
    assert page.graph["SoftwareApplication"]["inLanguage"] == "en"


def test_what_a_localization_has_not_is_taken_from_the_english(open_page: Open, localized: Persona) -> None:
    Persona.objects.filter(id="night-owl").update(
        demo=[{"role": "user", "text": "Still up?"}, {"role": "agent", "text": "Always."}],
        risk="high",
        disclaimer="No doctor.",
    )
    snapshot.forget()
    page = open_page("/id/p/night-owl")
    assert (page.one("h1").text, page.one("h1").attributes["lang"]) == ("Burung Hantu", "id")
    for text in ("Still up?", "Always.", "No doctor."):
        assert next(one for one in page.all("p") if one.text == text).attributes["lang"] == "en"


def test_an_author_is_named_and_articles_are_listed_in_their_language(open_page: Open, community: Persona) -> None:
    Article.objects.create(
        persona=community,
        slug="ночь".encode().hex(),
        title="Ночью",
        summary="О сне",
        lang="ru",
        status="published",
        body="x",
    )
    Article.objects.create(persona=community, slug="draft", title="Not yet", lang="en", status="draft", body="x")
    page = open_page("/en/p/night-owl")
    assert "Author: Olga" in page.one("main").text
    link = next(one for one in page.all("a") if one.text == "Ночью")
    assert (link.attributes["lang"], link.attributes["hreflang"]) == ("ru", "ru")
    assert "Not yet" not in page.html
    assert page.graph["SoftwareApplication"]["author"] == {"@type": "Person", "name": "Olga"}


def test_the_calls_name_this_persona_and_its_plan(open_page: Open) -> None:
    calls = open_page("/en/p/code-reviewer").one("section", id="create").text
    assert '"personaId": "code-reviewer", "tier": "medium"' in calls
    assert f"{settings.BASE_URL}/auth/request" in calls


def test_engines_are_those_of_its_plan_that_have_its_channels(open_page: Open, community: Persona) -> None:
    told = open_page("/en/p/night-owl").one("aside", class_="more").text
    assert all(engine in told for engine in ("Pi", "Hermes", "OpenCode"))
    Persona.objects.filter(id="night-owl").update(channels=["web", "telegram"])
    version.bump()
    snapshot.forget()
    told = open_page("/en/p/night-owl").one("aside", class_="more").text
    assert "Hermes" in told
    assert "OpenCode" not in told


def test_a_model_of_two_providers_is_named_once(open_page: Open) -> None:
    told = open_page("/en/p/interview-trainer").one("aside", class_="more").text
    assert {"anthropic:claude-sonnet-5-5", "openrouter:anthropic/claude-sonnet-5.5"} <= set(
        Persona.objects.get(id="interview-trainer").recommended_models
    )
    assert told.count("Claude Sonnet 5.5") == 1


def test_structured_data_has_the_offer_and_the_way_here(open_page: Open) -> None:
    graph = open_page("/es/p/budget-coach").graph
    application = graph["SoftwareApplication"]
    assert application["url"] == f"{settings.BASE_URL}/es/p/budget-coach"
    assert application["offers"]["price"] == "5.00"
    assert application["availableLanguage"] == ["en", "ru", "es", "pt", "tr", "id"]
    steps = graph["BreadcrumbList"]["itemListElement"]
    assert [one["position"] for one in steps] == [1, 2, 3]
    assert [one["item"] for one in steps] == [
        f"{settings.BASE_URL}/es/{path}" for path in ("", "c/life", "p/budget-coach")
    ]


@pytest.mark.parametrize("columns", [{"hidden": True}, {"gone": True}, {"status": "draft"}])
def test_what_is_not_public_is_a_page_that_says_so(
    api: APIClient, community: Persona, columns: dict[str, object]
) -> None:
    Persona.objects.filter(id="night-owl").update(**columns)
    answer = api.get("/es/p/night-owl")
    assert (answer.status_code, answer["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "Esta página no existe" in answer.content.decode()
    assert "noindex" in answer.content.decode()


def test_a_warm_page_costs_no_query(
    api: APIClient, django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that a slow machine does not check the catalog again during the test.
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 60.0)
    api.get("/")
    with django_assert_num_queries(0):
        for path in ("/", "/ru/", "/p/exam-coach", "/tr/p/exam-coach", "/id/c/life", "/p/nobody", "/robots.txt"):
            api.get(path)
            api.head(path)
