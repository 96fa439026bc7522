"""The page /p/{slug}/{article}."""

from __future__ import annotations

import pytest
from django.conf import settings
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from catalog import markdown, snapshot
from catalog.models import Article, Persona
from tests.pages.page import Open


@pytest.fixture
def article(community: Persona) -> Article:
    return Article.objects.create(
        persona=community, slug="noche", title="La noche", summary="Sobre dormir", lang="es", status="published",
        body="# Antes\n\nUn **té**.\n\n<script>alert(1)</script>\n",
    )  # fmt: skip


def test_it_is_in_its_own_language_at_one_address(open_page: Open, article: Article) -> None:
    page = open_page("/p/night-owl/noche", HTTP_ACCEPT_LANGUAGE="ru")
    assert (page.lang, page.one("h1").text, page.canonical) == (
        "es",
        "La noche",
        f"{settings.BASE_URL}/p/night-owl/noche",
    )
    assert page.alternates == {}
    assert page.meta("og:type") == "article"


def test_its_body_is_markdown_and_nothing_else(open_page: Open, article: Article) -> None:
    page = open_page("/p/night-owl/noche")
    body = next(one for one in page.all("div") if one.has("prose"))
    assert [one.tag for one in page.elements if body in one.within] == ["h2", "p", "strong", "p"]
    assert "<script>alert(1)</script>" in body.text


def test_a_visitor_waits_for_no_markdown(open_page: Open, article: Article) -> None:
    made = markdown.rendering.cache_info()
    page = open_page("/p/night-owl/noche")
    assert markdown.rendering.cache_info() == made
    assert page.one("strong").text == "té"


def test_a_body_that_shows_nothing_is_not_made_again(open_page: Open, article: Article) -> None:
    article.body = "[a]: https://a.example\n\n" * 20
    article.save()
    made = markdown.rendering.cache_info()
    open_page("/p/night-owl/noche")
    assert markdown.rendering.cache_info() == made


def test_what_was_written_before_html_was_kept_is_shown_too(open_page: Open, article: Article) -> None:
    Article.objects.update(html="")
    assert open_page("/p/night-owl/noche").one("strong").text == "té"


def test_structured_data_names_author_and_dates(open_page: Open, article: Article) -> None:
    written = open_page("/p/night-owl/noche").graph["Article"]
    assert (written["headline"], written["inLanguage"]) == ("La noche", "es")
    assert written["author"] == {"@type": "Person", "name": "Olga"}
    assert written["datePublished"] == article.created_at.isoformat()


def test_with_a_language_it_leads_to_that_address(api: APIClient, article: Article) -> None:
    for path in ("/ru/p/night-owl/noche", "/p/night-owl/noche?lang=tr"):
        answer = api.get(path)
        assert (answer.status_code, answer["Location"]) == (302, f"{settings.BASE_URL}/p/night-owl/noche")


def test_a_draft_and_another_personas_article_are_not_there(api: APIClient, article: Article) -> None:
    assert api.get("/p/exam-coach/noche").status_code == 404
    Article.objects.filter(id=article.id).update(status="draft")
    snapshot.forget()
    assert api.get("/p/night-owl/noche").status_code == 404


def test_it_is_gone_at_once_when_its_author_takes_it_back(api: APIClient, article: Article) -> None:
    snapshot.current()
    Article.objects.filter(id=article.id).update(status="draft")  # and no process has checked the catalog since
    assert api.get("/p/night-owl/noche").status_code == 404


def test_it_costs_one_query_and_then_none(
    api: APIClient, article: Article, django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that a slow machine does not check the catalog again during the test.
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 60.0)
    snapshot.current()
    with django_assert_num_queries(1):
        api.get("/p/night-owl/noche")
        api.get("/p/night-owl/noche")
