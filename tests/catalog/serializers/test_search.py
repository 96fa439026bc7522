"""The parameters of `GET /personas`, and the format of the answer."""

from __future__ import annotations

import gzip
import json

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from catalog import search
from catalog.search_places import SearchPosition, cursor_of

pytestmark = pytest.mark.usefixtures("catalog")

REFUSED = [
    ("q=" + "a" * 201, "q: "),
    ("q=a%00b", "q: "),
    ("q=a%0Ab", "q: "),
    ("q=exam&q=plan", "q: is given 2 times"),
    ("category=cooking", "category: 'cooking' is not one of study, creative, gaming,"),
    ("category=Life", "category: 'Life' is not one of"),
    ("category=life&category=", "category: is given 2 times"),
    ("lang=id", "lang: 'id' is not one of en, ru, es, pt, tr, ind"),
    ("lang=en%00", "lang: "),
    ("tier=huge", "tier: 'huge' is not one of tiny, small, medium, large"),
    ("limit=0", "limit: "),
    ("limit=201", "limit: "),
    ("limit=-1", "limit: "),
    ("limit=ten", "limit: "),
    ("limit=%2B5", "limit: must be a whole number of 1 to 200"),
    ("limit=1_0", "limit: "),
    ("limit=%D9%A3", "limit: "),
    ("limit=" + "9" * 5_000, "limit: "),
    ("cursor=nonsense", "cursor: must be the one from the Link header"),
    ("cursor=%00", "cursor: "),
    ("cursor=" + "a" * 100_000, "cursor: "),
    ("q=exam&cursor=bm90IGEgY3Vyc29y", "cursor: "),
]


def test_what_is_not_allowed_is_refused_by_name(api: APIClient) -> None:
    for query, message in REFUSED:
        answer = api.get(f"/personas?{query}")
        assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST"), query[:80]
        assert answer.json()["message"].startswith(message)


def test_a_cursor_serves_the_search_that_gave_it_alone(api: APIClient) -> None:
    link = api.get("/personas?q=plan&lang=en&limit=1")["Link"]
    cursor = link.rpartition("cursor=")[2].removesuffix('>; rel="next"')
    assert api.get(f"/personas?q=plan&limit=7&cursor={cursor}").status_code == 200
    for other in ("q=plans", "q=plan&lang=ru", "q=plan&tier=tiny", "q=plan&category=life", "category=life", "limit=1"):
        assert api.get(f"/personas?{other}&cursor={cursor}").status_code == 400


@pytest.mark.parametrize("q", [None, "plan"])
def test_a_cursor_that_somebody_wrote_is_answered(api: APIClient, q: str | None) -> None:
    asked = search.PersonaQuery(q=q).digest
    for place in (
        SearchPosition(0.5, 2**31 - 1, "zzz"),
        SearchPosition(1e-45, 0, "-"),
        SearchPosition(None, 2**31 - 1, "a"),
    ):
        cursor = cursor_of(place, search=asked)
        expected = 200 if (place.rank is None) == (q is None) else 400
        assert api.get("/personas", {"cursor": cursor, **({"q": q} if q else {})}).status_code == expected


def test_without_parameters_or_with_empty_ones_all_personas_are_answered_byte_for_byte(api: APIClient) -> None:
    whole = api.get("/personas")
    assert "Link" not in whole
    for query in ("q=", "q=&category=&lang=&tier=&limit=&cursor=", "q=%20", "unknown=1"):
        same = api.get(f"/personas?{query}")
        assert (same.content, same["ETag"]) == (whole.content, whole["ETag"])


def test_a_page_has_the_personas_of_the_list_and_is_as_cacheable(api: APIClient) -> None:
    listed = {persona["id"]: persona for persona in api.get("/personas").json()["personas"]}
    page = api.get("/personas?category=life&limit=2")
    body = page.json()
    assert set(body) == {"personas"}
    assert [listed[persona["id"]] for persona in body["personas"]] == body["personas"]
    assert (page["Cache-Control"], page["Content-Type"]) == ("public, no-cache", "application/json")
    assert api.get("/personas?category=life&limit=2", HTTP_IF_NONE_MATCH=page["ETag"]).status_code == 304
    packed = api.get("/personas?category=life&limit=2", HTTP_ACCEPT_ENCODING="gzip")
    assert json.loads(gzip.decompress(packed.content)) == body
    assert page["Link"].startswith(f"<{settings.BASE_URL}/personas?category=life&limit=2&cursor=")
    assert page["Link"] == packed["Link"]


def test_nothing_found_is_an_empty_list(api: APIClient) -> None:
    answer = api.get("/personas?q=zebrafish")
    assert (answer.status_code, answer.content) == (200, b'{"personas":[]}')
