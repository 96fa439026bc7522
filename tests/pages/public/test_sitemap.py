"""The files /sitemap.xml, /sitemaps/{number}.xml and /robots.txt."""

from __future__ import annotations

from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree as ET

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from catalog import snapshot, version
from catalog.models import Article, Persona
from catalog.vocabulary import Category
from pages.public import sitemap

pytestmark = pytest.mark.usefixtures("catalog")

NAMES = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "x": "http://www.w3.org/1999/xhtml"}
LANGUAGES = ["en", "ru", "es", "pt", "tr", "id"]


def read(api: APIClient, path: str) -> ET.Element:
    answer = api.get(path.removeprefix(settings.BASE_URL))
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/xml")
    return ET.fromstring(answer.content)


def locations(root: ET.Element, kind: str = "url") -> list[str]:
    return [one.text or "" for one in root.findall(f"s:{kind}/s:loc", NAMES)]


def test_every_page_is_there_in_every_language(api: APIClient) -> None:
    paths = ["", *(f"c/{one}" for one in Category.values), *(f"p/{one.id}" for one in Persona.objects.all())]
    expected = {f"{settings.BASE_URL}/{lang}/{path}" for path in paths for lang in LANGUAGES}
    found = locations(read(api, "/sitemap.xml"))
    assert set(found) == expected
    assert len(found) == len(expected)
    for address in found[::17]:
        assert api.get(address.removeprefix(settings.BASE_URL)).status_code == 200


def test_each_names_its_other_languages_as_the_page_itself_does(api: APIClient) -> None:
    for entry in read(api, "/sitemap.xml").findall("s:url", NAMES):
        links = {one.attrib["hreflang"]: one.attrib["href"] for one in entry.findall("x:link", NAMES)}
        assert set(links) == {*LANGUAGES, "x-default"}
        assert entry.findtext("s:loc", "", NAMES) in links.values()


def test_it_says_when_a_persona_changed(api: APIClient, community: Persona) -> None:
    entries = read(api, "/sitemap.xml").findall("s:url", NAMES)
    owl = next(one for one in entries if one.findtext("s:loc", "", NAMES).endswith("/en/p/night-owl"))
    assert owl.findtext("s:lastmod", "", NAMES) == f"{community.updated_at:%Y-%m-%dT%H:%M:%SZ}"


def test_an_article_has_one_address_and_a_draft_none(api: APIClient, community: Persona) -> None:
    for slug, status in (("note", "published"), ("draft", "draft")):
        Article.objects.create(persona=community, slug=slug, title="A", lang="ru", status=status, body="x")
    found = locations(read(api, "/sitemap.xml"))
    assert [one for one in found if "night-owl/" in one] == [f"{settings.BASE_URL}/p/night-owl/note"]


def test_with_many_pages_it_is_an_index_of_files_that_hold_each_page_once(
    api: APIClient, community: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = locations(read(api, "/sitemap.xml"))
    monkeypatch.setattr(sitemap, "IN_A_FILE", 10)
    snapshot.forget()
    index = read(api, "/sitemap.xml")
    assert index.tag.endswith("sitemapindex")
    files = [read(api, address) for address in locations(index, "sitemap")]
    assert [address for file in files for address in locations(file)] == everything
    assert max(len(locations(file)) for file in files) <= 10 * len(LANGUAGES)


def test_a_persona_taken_back_is_gone(api: APIClient, community: Persona) -> None:
    assert b"night-owl" in api.get("/sitemap.xml").content
    Persona.objects.filter(id="night-owl").update(status="draft")
    version.bump()
    snapshot.forget()
    assert b"night-owl" not in api.get("/sitemap.xml").content


def test_crawlers_are_led_to_the_pages_and_kept_from_the_console(api: APIClient) -> None:
    answer = api.get("/robots.txt")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    rules = RobotFileParser()
    rules.parse(answer.content.decode().splitlines())
    assert rules.site_maps() == [f"{settings.BASE_URL}/sitemap.xml"]
    for path in ("/", "/ru/", "/p/exam-coach", "/tr/p/mentor", "/c/life", "/static/catalog/pages.css", "/docs"):
        assert rules.can_fetch("Bot", path), path
    for path in ("/admin/", "/agents/agt_1", "/keys", "/me", "/auth/request"):
        assert not rules.can_fetch("Bot", path), path
