"""The page /c/{category}."""

from __future__ import annotations

import pytest
from django.conf import settings

from accounts.models import User
from catalog import snapshot, version
from catalog.models import Persona
from pages.public.category import ON_A_PAGE
from tests.pages.page import Open, Page

pytestmark = pytest.mark.usefixtures("catalog")


def names(page: Page) -> list[str]:
    return [one.text for one in page.all("span") if one.has("name")]


@pytest.fixture
def crowd(catalog: object, author: User) -> None:
    rows = [
        Persona(
            id=f"p-{number:02}", name=f"Persona {number:02}", tagline="Helps", for_who="People", does=["Helps"],
            icon="x", category="life", tier="tiny", channels=["web"], soul="You help.", status="published",
            owner=author, author="O", deployed_count=number,
        )
        for number in range(30)
    ]  # fmt: skip
    Persona.objects.bulk_create(rows)
    version.bump()
    snapshot.forget()


def test_ours_come_first_then_the_most_used(open_page: Open, crowd: None) -> None:
    first = names(open_page("/en/c/life"))
    assert len(first) == ON_A_PAGE
    assert first[3:5] == ["Persona 29", "Persona 28"]


def test_pages_follow_each_other_until_the_last(open_page: Open, crowd: None) -> None:
    first, second = open_page("/ru/c/life"), open_page("/ru/c/life/2")
    assert first.one("a", rel="next").attributes["href"] == second.canonical == f"{settings.BASE_URL}/ru/c/life/2"
    assert second.one("a", rel="prev").attributes["href"] == first.canonical
    assert second.all("a", rel="next") == []
    assert len({*names(first), *names(second)}) == 33


def test_the_landing_page_leads_to_what_it_does_not_show(open_page: Open, crowd: None) -> None:
    more = [one for one in open_page("/en/").all("a") if one.has("more")]
    assert [(one.text.strip(), one.attributes["href"]) for one in more] == [
        ("All 33", f"{settings.BASE_URL}/en/c/life")
    ]


def test_an_empty_category_says_so(open_page: Open) -> None:
    Persona.objects.filter(category="life").delete()
    version.bump()
    snapshot.forget()
    assert "There are no personas here yet." in open_page("/en/c/life").html
