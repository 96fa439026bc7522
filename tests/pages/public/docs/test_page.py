"""The page /docs: all operations, without scripts, small, in the reader's language."""

from __future__ import annotations

import json

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from config.docs import document
from tests.pages.page import Page

MOST_BYTES = 100_000  # of a page, before compression


def opened(api: APIClient, path: str) -> Page:
    answer = api.get(path)
    assert answer.status_code == 200, path
    assert len(answer.content) < MOST_BYTES, path
    return Page(answer.content.decode())


def groups(page: Page) -> list[str]:
    hrefs = [one.attributes["href"] for one in page.all("a")]
    return list(dict.fromkeys(href for href in hrefs if href.startswith("/docs/") and "#" not in href))


def test_every_operation_has_an_anchor_where_it_is_listed_and_where_it_is_told(api: APIClient) -> None:
    described = json.loads(document().body)
    operations = {
        one["operationId"]: one
        for item in (*described["paths"].values(), *described["webhooks"].values())
        for one in item.values()
    }
    index = opened(api, "/docs")
    pages = {path: opened(api, path) for path in groups(index)}
    links = {one.attributes["href"] for one in index.all("a")}
    told: dict[str, tuple[str, str]] = {}
    for path, page in {"": index, **pages}.items():
        ids = [one.attributes["id"] for one in page.elements if "id" in one.attributes]
        assert len(ids) == len(set(ids)), path
        if path:
            told |= {one.attributes["id"]: (path, one.text) for one in page.all("section") if one.has("operation")}
    assert set(told) == set(operations)
    for name, (path, text) in told.items():
        assert f"{path}#{name}" in links
        assert index.all("li", id=name), name
        assert operations[name]["summary"].replace("`", "") in text
        for parameter in operations[name].get("parameters", []):
            assert parameter["name"] in text, (name, parameter["name"])


def test_every_anchor_that_a_page_leads_to_is_there(api: APIClient) -> None:
    index = opened(api, "/docs")
    for path in ("/docs", *groups(index)):
        page = opened(api, path)
        ids = {one.attributes["id"] for one in page.elements if "id" in one.attributes}
        here = [one.attributes["href"] for one in page.all("a")]
        assert [one for one in here if one.startswith("#") and one[1:] not in ids] == [], path
    assert opened(api, "/docs").all("h2", id="errors")  # links from the refusals lead here


def test_fields_say_their_type_and_what_is_needed(api: APIClient) -> None:
    create = opened(api, "/docs/agents").one("section", id="createAgent")
    words = " ".join(create.text.split())
    assert "tier one of tiny, small, medium, large, required" in words
    assert "channels list of one of web, telegram, discord, whatsapp, email" in words
    assert "channelSecrets.telegramToken string" in words


def test_the_pages_run_nothing_and_ask_nobody_else(api: APIClient) -> None:
    for path in ("/docs", "/docs/talking"):
        answer = api.get(path)
        page = Page(answer.content.decode())
        assert "script-src" not in answer["Content-Security-Policy"]
        assert answer["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
        assert page.all("script") == []
        assert all(one.attributes["href"].startswith("/static/") for one in page.all("link", rel="stylesheet"))


@pytest.mark.parametrize(("header", "frame"), [("ru", "Тарифы"), ("fr", "Plans")])
def test_the_frame_is_in_the_readers_language_and_the_text_in_english(api: APIClient, header: str, frame: str) -> None:
    page = Page(api.get("/docs/agents", HTTP_ACCEPT_LANGUAGE=header).content.decode())
    assert frame in page.one("header").text
    (text,) = [one for one in page.all("div", lang="en") if one.has("docs")]
    assert "Create an agent" in text.text
    assert page.canonical == f"{settings.BASE_URL}/docs/agents"


def test_a_group_that_is_not_there_is_told_as_a_page(api: APIClient) -> None:
    answer = api.get("/docs/nothing")
    assert (answer.status_code, answer["Content-Type"]) == (404, "text/html; charset=utf-8")


def test_the_page_is_not_sent_again(api: APIClient) -> None:
    answer = api.get("/docs", HTTP_ACCEPT_ENCODING="gzip")
    assert answer["Content-Encoding"] == "gzip"
    assert api.get("/docs", HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304
