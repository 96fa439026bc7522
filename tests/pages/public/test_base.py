"""The common rules of all public pages: languages, addresses, headers, caching, errors."""

from __future__ import annotations

import gzip
from typing import NoReturn
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import OperationalError
from rest_framework.test import APIClient

from catalog import snapshot, version
from catalog.models import Persona, Tier
from tests.pages.page import Open, Page

pytestmark = pytest.mark.usefixtures("catalog")

LANGUAGES = ["en", "ru", "es", "pt", "tr", "id"]
PATHS = ["", "p/exam-coach", "c/life"]
each_path = pytest.mark.parametrize("path", PATHS)


@each_path
def test_every_language_names_all_the_others_and_itself(open_page: Open, path: str) -> None:
    expected = {lang: f"{settings.BASE_URL}/{lang}/{path}" for lang in LANGUAGES}
    expected["x-default"] = f"{settings.BASE_URL}/{path}"
    for href in expected.values():
        assert open_page(href).alternates == expected


@each_path
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_page_says_its_language_and_its_address(api: APIClient, path: str, lang: str) -> None:
    answer = api.get(f"/{lang}/{path}", HTTP_ACCEPT_LANGUAGE="fr, es;q=0.1")
    page = Page(answer.content.decode())
    assert (answer["Content-Language"], page.lang) == (lang, lang)
    assert page.canonical == page.meta("og:url") == f"{settings.BASE_URL}/{lang}/{path}"
    assert "Accept-Language" not in answer["Vary"]
    assert page.meta("viewport") == "width=device-width, initial-scale=1"
    assert page.meta("description") == page.meta("og:description") == page.meta("twitter:description")
    assert page.one("title").text.strip() == f"{page.meta('og:title')} · Agentpods"
    assert page.graph


@pytest.mark.parametrize(
    ("header", "lang"),
    [
        ("", "en"),
        ("ru", "ru"),
        ("pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("fr-CH, fr;q=0.9, id;q=0.4, en;q=0.3", "id"),
        ("en-GB,tr;q=0.1", "en"),
        ("ru;q=0", "en"),
        ("zh, *;q=0.5", "en"),
        ("x" * 5000, "en"),
    ],
)
@each_path
def test_without_a_language_in_the_address_it_is_the_visitors(
    api: APIClient, path: str, header: str, lang: str
) -> None:
    answer = api.get(f"/{path}", HTTP_ACCEPT_LANGUAGE=header)
    assert (answer.status_code, answer["Content-Language"]) == (200, lang)
    assert answer["Vary"] == "Accept-Encoding, Accept-Language"
    assert Page(answer.content.decode()).canonical == f"{settings.BASE_URL}/{lang}/{path}"


@pytest.mark.parametrize(("word", "lang"), [("es", "es"), ("ind", "id"), ("en", "en")])
def test_a_language_in_the_query_leads_to_its_address(api: APIClient, word: str, lang: str) -> None:
    answer = api.get(f"/ru/p/exam-coach?lang={word}&from=mail")
    assert (answer.status_code, answer["Location"]) == (302, f"{settings.BASE_URL}/{lang}/p/exam-coach?from=mail")
    assert api.get("/?lang=klingon").status_code == 200


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/ru", "/ru/"),
        ("/p/exam-coach/", "/p/exam-coach"),
        ("/tr/p/exam-coach/", "/tr/p/exam-coach"),
        ("/c/life/", "/c/life"),
        ("/ru//evil.example/", "/ru//evil.example"),
    ],
)
def test_an_address_that_is_almost_right_is_put_right(api: APIClient, path: str, to: str) -> None:
    answer = api.get(path)
    assert (answer.status_code, answer["Location"]) == (301, f"{settings.BASE_URL}{to}")


@pytest.mark.parametrize(
    "path",
    [
        "/p/nobody", "/ru/p/nobody", "/c/nothing", "/c/life/99", "/c/life/0", "/ru/nothing", "/p/%00", "/p/a%20b",
        "/p/exam-coach/nothing", "/p/exam-coach/a/b", "/sitemaps/0.xml", "/sitemaps/99.xml", "/es/%3Cscript%3E",
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_to_a_person(api: APIClient, path: str) -> None:
    answer = api.get(path, HTTP_ACCEPT_LANGUAGE="ru")
    page = Page(answer.content.decode())
    assert answer.status_code == 404
    assert page.meta("robots") == "noindex"
    assert page.all("link", rel="canonical") == []
    assert answer["Cache-Control"] == "no-store"
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert answer["Content-Language"] == ("es" if path.startswith("/es") else "ru")


@each_path
def test_nothing_on_a_page_comes_from_elsewhere(api: APIClient, path: str) -> None:
    answer = api.get(f"/en/{path}")
    page = Page(answer.content.decode())
    assert answer["Content-Security-Policy"] == (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    )
    resources = [one.attributes["src"] for one in page.elements if "src" in one.attributes]
    resources += [one.attributes["href"] for rel in ("stylesheet", "icon") for one in page.all("link", rel=rel)]
    assert resources
    assert all(address.startswith("/static/catalog/") for address in resources)
    assert [one.attributes.get("type") for one in page.all("script")] == ["application/ld+json"]
    assert not [one for one in page.elements if "style" in one.attributes or one.tag == "style"]
    for link in page.all("a"):
        parts = urlsplit(link.attributes["href"])
        assert f"{parts.scheme}://{parts.netloc}" in {settings.BASE_URL, "://"}


def test_what_a_page_asks_for_is_there(api: APIClient) -> None:
    page = Page(api.get("/").content.decode())
    for address in (page.one("link", rel="stylesheet").attributes["href"], page.meta("og:image")):
        answer = api.get(address.removeprefix(settings.BASE_URL))
        assert answer.status_code == 200
        assert b"".join(answer)


@each_path
def test_what_the_visitor_has_is_not_sent_again(api: APIClient, path: str) -> None:
    plain, zipped = api.get(f"/ru/{path}"), api.get(f"/ru/{path}", HTTP_ACCEPT_ENCODING="gzip")
    assert plain["Cache-Control"] == zipped["Cache-Control"] == "public, no-cache"
    assert gzip.decompress(zipped.content) == plain.content
    assert len({plain["ETag"], zipped["ETag"], api.get(f"/es/{path}")["ETag"]}) == 3
    for tag in (plain["ETag"], zipped["ETag"]):
        again = api.get(f"/ru/{path}", HTTP_IF_NONE_MATCH=f'"other", {tag}')
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
        assert again["Content-Security-Policy"]
    head = api.head(f"/ru/{path}")
    assert (head.status_code, head.content, head["ETag"]) == (200, b"", plain["ETag"])


def test_no_page_sets_a_cookie_or_looks_at_one(api: APIClient) -> None:
    answer = api.get("/", HTTP_COOKIE=f"session={'x' * 32}", HTTP_AUTHORIZATION="Bearer ak_live_revoked")
    assert (answer.status_code, dict(answer.cookies)) == (200, {})
    assert "Cookie" not in answer["Vary"]


def test_a_change_of_the_catalog_is_on_the_page(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Exam Coach" in open_page("/en/p/exam-coach").html
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 0.0)  # as if a second had passed
    persona = Persona.objects.get(id="exam-coach")
    persona.name = "Exam Captain"
    persona.save()
    assert "Exam Captain" in open_page("/en/p/exam-coach").html
    assert "Exam Captain" in open_page("/en/").html


def test_while_the_database_is_away_known_pages_are_served(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**kwargs: object) -> NoReturn:
        raise OperationalError("server closed the connection")

    api.get("/")
    monkeypatch.setattr(version, "current", away)
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 0.0)
    assert api.get("/ru/p/exam-coach").status_code == 200
    snapshot.forget()
    answer = api.get("/ru/p/exam-coach")
    assert (answer.status_code, answer["Content-Type"]) == (503, "text/html; charset=utf-8")
    assert "Что-то пошло не так" in answer.content.decode()
    assert answer["Retry-After"]


def test_a_tier_of_odd_memory_is_told_in_megabytes(open_page: Open) -> None:
    Tier.objects.filter(id="tiny").update(memory_mib=1536)
    version.bump()
    snapshot.forget()
    assert "1536 МБ" in open_page("/ru/").html
