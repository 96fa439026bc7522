"""The page /search?q=."""

from __future__ import annotations

from urllib.parse import quote_plus

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from catalog.models import Persona
from tests.pages.page import Open, Page

pytestmark = pytest.mark.usefixtures("catalog")


def found(page: Page) -> list[str]:
    return [one.text for one in page.all("span") if one.has("name")]


@pytest.mark.parametrize(
    ("lang", "word", "name"), [("en", "budget", "Budget Coach"), ("ru", "бюджет", "Наставник по бюджету")]
)
def test_a_word_of_the_visitors_language_finds_it(open_page: Open, lang: str, word: str, name: str) -> None:
    page = open_page(f"/{lang}/search", data={"q": word})
    assert name in found(page)
    assert page.meta("robots") == "noindex"
    assert page.one("input").attributes["value"] == word


def test_what_only_english_has_is_found_in_english(open_page: Open, community: Persona) -> None:
    community.save()
    assert "Night Owl" in found(open_page("/es/search", data={"q": "midnight"}))


def test_nothing_typed_and_nothing_found_are_pages(open_page: Open) -> None:
    assert found(open_page("/en/search")) == found(open_page("/en/search?q=++")) == []
    assert "Nothing found" in open_page("/en/search?q=xyzzyqq").html


@pytest.mark.parametrize(
    "query", ["q=%00", "q=a%00b", "q=%ff%fe", f"q={'a' * 5000}", "q=budget&cursor=nonsense", "q=a&q=b"]
)
def test_whatever_is_asked_there_is_a_page(api: APIClient, query: str) -> None:
    assert api.get(f"/search?{query}").status_code == 200


def test_words_asked_of_the_landing_page_are_searched_for(api: APIClient) -> None:
    answer = api.get("/ru/?q=план+б")
    assert (answer.status_code, answer["Location"]) == (302, f"{settings.BASE_URL}/ru/search?q={quote_plus('план б')}")


def test_the_box_leads_here_and_languages_keep_the_words(open_page: Open) -> None:
    assert open_page("/tr/").one("form").attributes["action"] == f"{settings.BASE_URL}/tr/search"
    page = open_page("/tr/search?q=plan+b")
    russian = next(one for one in page.all("a", hreflang="ru"))
    assert russian.attributes["href"] == f"{settings.BASE_URL}/ru/search?q=plan+b"
