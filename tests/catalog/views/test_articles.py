"""The endpoints /personas/{id}/articles, and the author's own drafts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from rest_framework.test import APIClient

from catalog import articles, snapshot
from catalog.changed_by import ARTICLE
from catalog.models import Article, CatalogVersion, Persona
from catalog.serializers.authors import ArticleSerializer, PatchArticleSerializer
from tests.catalog.writing import Writer

pytestmark = pytest.mark.usefixtures("shelf")

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
TEXT = {"title": "Staying awake", "lang": "en", "body": "# Coffee\n\nIs **not** all."}
FIELDS = {"id", "personaId", "slug", "title", "summary", "lang", "status", "createdAt", "updatedAt"}


@pytest.fixture
def persona(writer: Writer) -> str:
    return f"/personas/{writer.published()['id']}"


def _article(writer: Writer, persona: str, **texts: Any) -> str:
    return f"{persona}/articles/{writer.post(f'{persona}/articles', TEXT | texts)['article']['slug']}"


def test_an_article_is_a_draft_until_it_is_published(writer: Writer, persona: str, api: APIClient) -> None:
    with time_machine.travel(NOON, tick=False):
        article = writer.post(f"{persona}/articles", TEXT)["article"]
    path = f"{persona}/articles/{article['slug']}"
    assert set(article) == FIELDS | {"body"}
    assert article["id"].startswith("art_")
    assert article["slug"].startswith("staying-awake-")
    assert (article["summary"], article["status"], article["body"]) == ("", "draft", TEXT["body"])
    assert (article["createdAt"], article["updatedAt"]) == ("2026-11-21T12:00:00Z", "2026-11-21T12:00:00Z")
    assert writer.get(f"/me{path}") == {"article": article}
    assert api.get(path).status_code == 404
    published = writer.patch(path, {"status": "published"})["article"]
    snapshot.forget()
    assert published == article | {"status": "published", "updatedAt": published["updatedAt"]}
    assert api.get(path).json() == {"article": published}


def test_lists_leave_the_bodies_out(writer: Writer, persona: str, api: APIClient) -> None:
    _article(writer, persona, slug="first", status="published")
    _article(writer, persona, slug="second")
    snapshot.forget()
    public, own = api.get(persona).json()["articles"], writer.get(f"/me{persona}")["articles"]
    assert ([one["slug"] for one in public], [one["slug"] for one in own]) == (["first"], ["second", "first"])
    assert {frozenset(one) for one in [*public, *own]} == {frozenset(FIELDS)}


def test_articles_are_public_only_while_the_persona_is(writer: Writer, persona: str, api: APIClient) -> None:
    path = _article(writer, persona, status="published")
    writer.post(f"{persona}/unpublish")
    snapshot.forget()
    assert api.get(path).json()["error"] == "NOT_FOUND"
    assert writer.get(f"/me{path}")["article"]["status"] == "published"
    writer.post(f"{persona}/publish")
    snapshot.forget()
    assert api.get(path).status_code == 200


def test_changing_one_field_keeps_the_others(writer: Writer, persona: str) -> None:
    path = _article(writer, persona, summary="How", status="published")
    before = writer.get(f"/me{path}")["article"]
    for texts in ({"title": "Other"}, {"summary": ""}, {"lang": "ru"}, {"body": "x"}, {"status": "draft"}):
        after = writer.patch(path, texts)["article"]
        assert after == before | texts | {"updatedAt": after["updatedAt"]}
        before = after


def test_the_slug_of_an_article_is_for_good(writer: Writer, persona: str) -> None:
    path = _article(writer, persona, slug="first")
    assert writer.refusal("PATCH", path, {"title": "Other", "slug": "second"}).startswith("slug: ")
    assert writer.get(f"/me{path}")["article"]["title"] == TEXT["title"]


def test_every_field_of_an_article_is_written_or_refused() -> None:
    assert set(ArticleSerializer().fields) == set(PatchArticleSerializer().fields) | set(ARTICLE)


def test_a_slug_is_unique_within_its_persona(writer: Writer, persona: str) -> None:
    _article(writer, persona, slug="first")
    assert writer.refusal("POST", f"{persona}/articles", TEXT | {"slug": "first"}, status=409).startswith("slug: ")
    other = f"/personas/{writer.draft()['id']}"
    _article(writer, other, slug="first")
    assert _article(writer, persona) != _article(writer, persona)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"title": None}, "title"),
    ({"title": " "}, "title"),
    ({"title": "a\nb"}, "title"),
    ({"title": "a" * 201}, "title"),
    ({"summary": None}, "summary"),
    ({"summary": "a" * 1001}, "summary"),
    ({"lang": "de"}, "lang"),
    ({"lang": "id"}, "lang"),
    ({"status": "builtin"}, "status"),
    ({"body": ""}, "body"),
    ({"body": 5}, "body"),
    ({"body": "a\u0000b"}, "body"),
    ({"body": "a\u0008b"}, "body"),
    ({"body": "a" * 65_537}, "body"),
    ({"body": "ы" * 32_769}, "body"),
]


def test_a_field_that_is_wrong_is_named(writer: Writer, persona: str) -> None:
    path = _article(writer, persona)
    for texts, field in WRONG:
        assert writer.refusal("PATCH", path, texts).startswith(f"{field}: ")
    for texts, field in [
        *WRONG,
        ({"slug": "Not A Slug"}, "slug"),
        ({"slug": "a" * 81}, "slug"),
        ({"slug": ""}, "slug"),
    ]:
        assert writer.refusal("POST", f"{persona}/articles", TEXT | texts).startswith(f"{field}: ")
    assert Article.objects.count() == 1


def test_title_language_and_body_are_needed(writer: Writer, persona: str) -> None:
    for field in TEXT:
        body = {name: value for name, value in TEXT.items() if name != field}
        assert writer.refusal("POST", f"{persona}/articles", body).startswith(f"{field}: ")


def test_a_body_may_have_64_kib(writer: Writer, persona: str, api: APIClient) -> None:
    path = _article(writer, persona, body="ы" * 32_768, status="published")
    snapshot.forget()
    assert len(api.get(path).json()["article"]["body"]) == 32_768


def test_the_html_of_a_body_is_kept_when_it_is_written(writer: Writer, persona: str) -> None:
    path = _article(writer, persona)
    kept = Article.objects.get().html
    assert kept == "<h2>Coffee</h2>\n<p>Is <strong>not</strong> all.</p>\n"
    writer.patch(path, {"title": "Other", "body": TEXT["body"]})
    assert Article.objects.get().html == kept
    writer.patch(path, {"body": "*Tea*"})
    assert Article.objects.get().html == "<p><em>Tea</em></p>\n"


TOO_LARGE = {
    '"' * 65_536: "body: would be 393224 bytes of HTML; at most 262144;",
    "&" * 65_536: "body: takes over 250000 steps to be read as Markdown",
    "![" * 32_766: "body: takes over 250000 steps to be read as Markdown",
    "[a]: https://a.example/" + "x" * 2_000 + "\n\n" + "[a]" * 20_000: "bytes of HTML; at most 262144;",
    "|a|\n|-|\n" + "a\n" * 32_000: "body: has too many paragraphs, list items and table cells: over 50000 parts",
    "|a" * 120 + "\n" + "|-" * 120 + "\n" + "|\n" * 30_000: "over 50000 parts of Markdown",
}


@pytest.mark.sampled
@pytest.mark.parametrize("body", TOO_LARGE, ids=range(len(TOO_LARGE)))
def test_a_body_that_would_fill_a_page_is_refused(writer: Writer, persona: str, body: str) -> None:
    path = _article(writer, persona)
    before = Article.objects.values().get()
    for method, where in (("POST", f"{persona}/articles"), ("PATCH", path)):
        assert TOO_LARGE[body] in writer.refusal(method, where, TEXT | {"body": body})
    assert Article.objects.values().get() == before


ORDINARY = {
    "prose": "## Кофе\n\nНе **всё**, но [помогает](https://a.example/x).\n\n- 咖啡并不是全部\n- café & té\n\n",
    "list": "- Buy milk\n- Go home\n",
    "code": '```html\n<p class="a">Tom & Jerry</p>\n```\n\n',
    "table": "|night|ночь|gece|\n|-|-|-|\n" + "|owl|сова|baykuş|\n" * 50 + "\n",
}


@pytest.mark.sampled
@pytest.mark.parametrize("piece", ORDINARY.values(), ids=ORDINARY)
def test_an_ordinary_body_of_64_kib_is_shown(writer: Writer, persona: str, piece: str) -> None:
    body = piece * (65_536 // len(piece.encode()))
    _article(writer, persona, body=body)
    assert len(Article.objects.get().html.encode()) < 240 * 1024


def test_a_persona_has_so_many_articles(writer: Writer, persona: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(articles, "ARTICLES_PER_PERSONA", 3)
    path, *_ = [_article(writer, persona) for _ in range(3)]
    assert writer.refusal("POST", f"{persona}/articles", TEXT).startswith("articles: ")
    hostile = TEXT | {"body": "![" * 32_766}
    assert writer.refusal("POST", f"{persona}/articles", hostile).startswith("articles: "), "counted before it is read"
    writer.delete(path)
    _article(writer, persona)


def test_a_deleted_article_is_gone(writer: Writer, persona: str, api: APIClient) -> None:
    path = _article(writer, persona, status="published")
    writer.delete(path)
    snapshot.forget()
    assert api.get(path).status_code == 404
    assert api.get(persona).json()["articles"] == []
    writer.refusal("DELETE", path, status=404)
    writer.refusal("PATCH", path, {"title": "x"}, status=404)


def test_only_the_author_writes_articles(writer: Writer, stranger: Writer, persona: str, api: APIClient) -> None:
    path = _article(writer, persona)
    for method, where in (("POST", f"{persona}/articles"), ("PATCH", path), ("DELETE", path), ("GET", f"/me{path}")):
        stranger.refusal(method, where, None if method in {"DELETE", "GET"} else TEXT, status=404)
        assert getattr(api, method.lower())(where).status_code == 401
    assert "built in" in writer.refusal("POST", "/personas/exam-coach/articles", TEXT, status=403)


def test_what_is_no_article_is_not_found(writer: Writer, persona: str, api: APIClient) -> None:
    slugs = ("nothing", "%00", "a" * 300, "%F0%9F%A6%89", "A")
    for path in [f"{persona}/articles/{slug}" for slug in slugs] + [f"/personas/{slug}/articles/x" for slug in slugs]:
        assert set(api.get(path).json()) == {"error", "message"}
        writer.refusal("PATCH", path, TEXT, status=404)
        writer.refusal("GET", f"/me{path}", status=404)
        writer.refusal("DELETE", path, status=404)


def test_only_what_visitors_see_is_news(writer: Writer, persona: str) -> None:
    def news() -> bool:
        token, seen["token"] = seen.get("token"), CatalogVersion.objects.get().token
        own = Persona.objects.filter(owner=writer.user)
        waits = own.get().reviewed_at is None
        own.update(reviewed_at=timezone.now())
        assert (token != seen["token"]) == waits
        return waits

    seen: dict[str, str] = {}
    news()
    path = _article(writer, persona, slug="first")
    assert not news()
    writer.patch(path, {"title": "Other"})
    assert not news()
    writer.patch(path, {"status": "published"})
    assert news()
    writer.patch(path, {"body": "Other"})
    assert news()
    writer.patch(path, {"body": "Other"})
    assert not news()
    writer.patch(path, {"status": "draft"})
    assert news()
    writer.delete(path)
    assert not news()
    writer.delete(_article(writer, persona, status="published"))
    assert news()


def test_the_time_of_a_change_is_shown(writer: Writer, persona: str) -> None:
    path = _article(writer, persona)
    with time_machine.travel(NOON, tick=False):
        assert writer.patch(path, {"title": "Other"})["article"]["updatedAt"] == "2026-11-21T12:00:00Z"
    assert Article.objects.get().updated_at == NOON
