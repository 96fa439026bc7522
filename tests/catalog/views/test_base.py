"""The common rules of all catalog endpoints: no credential, ETags, compression, methods."""

from __future__ import annotations

import gzip

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from catalog import snapshot
from catalog.models import Tier
from config.errors import ErrorCode

pytestmark = pytest.mark.usefixtures("catalog")

PATHS = [
    "/personas",
    "/personas/exam-coach",
    "/tiers",
    "/engines",
    "/models",
    "/llm-providers",
    "/tools",
    "/tools?engine=pi",
]
each_path = pytest.mark.parametrize("path", PATHS)
# Operations that authors may use; nobody may use the other writing methods.
WRITABLE = {("post", "/personas"), ("patch", "/personas/exam-coach"), ("delete", "/personas/exam-coach")}
READ_ONLY = [
    (method, path) for path in PATHS for method in ("post", "put", "patch", "delete") if (method, path) not in WRITABLE
]


@each_path
def test_anyone_may_read_even_with_a_revoked_key(api: APIClient, path: str) -> None:
    answer = api.get(path, HTTP_AUTHORIZATION="Bearer ak_live_revoked")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer["Cache-Control"] == "public, no-cache"
    assert "Accept-Encoding" in answer["Vary"]
    assert int(answer["Content-Length"]) == len(answer.content)


@each_path
def test_what_the_caller_has_is_not_sent_again(
    api: APIClient, path: str, django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = api.get(path)["ETag"]
    # So that a slow machine does not check the catalog again during the test.
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 60.0)
    assert tag.startswith('"')
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*", f'W/"other",W/{tag}'):
        with django_assert_num_queries(0):
            answer = api.get(path, HTTP_IF_NONE_MATCH=known)
        assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", tag)
        assert answer["Cache-Control"] == "public, no-cache"
        assert "Accept-Encoding" in answer["Vary"]


@each_path
@pytest.mark.parametrize("known", ['"other"', "other", "", 'W/"other"', '"', '""'])
def test_what_the_caller_has_not_is_sent(api: APIClient, path: str, known: str) -> None:
    assert api.get(path, HTTP_IF_NONE_MATCH=known).status_code == 200


@each_path
def test_gzip_holds_the_same_body_under_a_tag_of_its_own(api: APIClient, path: str) -> None:
    plain, compressed = api.get(path), api.get(path, HTTP_ACCEPT_ENCODING="gzip, deflate")
    assert compressed["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.content) == plain.content
    assert compressed["ETag"] != plain["ETag"]
    assert int(compressed["Content-Length"]) == len(compressed.content)
    assert "Content-Encoding" not in plain


def test_either_tag_tells_that_the_caller_is_up_to_date(api: APIClient) -> None:
    plain = api.get("/tiers")["ETag"]
    compressed = api.get("/tiers", HTTP_ACCEPT_ENCODING="gzip")["ETag"]
    for known in (plain, compressed):
        for accepted in ("gzip", ""):
            answer = api.get("/tiers", HTTP_ACCEPT_ENCODING=accepted, HTTP_IF_NONE_MATCH=known)
            assert (answer.status_code, answer["ETag"]) == (304, known)


def test_a_large_answer_is_much_smaller_compressed(api: APIClient) -> None:
    plain, compressed = api.get("/personas"), api.get("/personas", HTTP_ACCEPT_ENCODING="gzip")
    assert len(compressed.content) < len(plain.content) / 2


@each_path
def test_head_answers_as_get_without_a_body(api: APIClient, path: str) -> None:
    get, head = api.get(path), api.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert (head["ETag"], head["Content-Length"]) == (get["ETag"], get["Content-Length"])


@pytest.mark.parametrize(("method", "path"), READ_ONLY)
def test_nothing_else_can_be_written(api: APIClient, method: str, path: str) -> None:
    answer = getattr(api, method)(path, {}, format="json")
    assert answer.status_code == 405
    assert set(answer.json()) == {"error", "message"}
    assert answer.json()["error"] == ErrorCode.BAD_REQUEST
    assert "GET" in answer["Allow"]


@pytest.mark.parametrize(("method", "path"), sorted(WRITABLE))
def test_who_writes_says_who_they_are(api: APIClient, method: str, path: str) -> None:
    answer = getattr(api, method)(path, {}, format="json")
    assert answer.status_code == 401
    assert answer.json()["error"] == ErrorCode.UNAUTHORIZED
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/tiers/", "/personas/", "/personas/exam-coach/souls", "/tiers/tiny"])
def test_other_paths_are_no_endpoints(api: APIClient, path: str) -> None:
    answer = api.get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error", "message"}


def test_bytes_and_tag_stay_until_the_content_changes(api: APIClient) -> None:
    first = api.get("/tiers")
    Tier.objects.get(id="tiny").save()
    snapshot.forget()
    assert api.get("/tiers")["ETag"] == first["ETag"]
    Tier.objects.filter(id="tiny").update(name="Teeny")
    snapshot.forget()
    assert api.get("/tiers")["ETag"] != first["ETag"]
