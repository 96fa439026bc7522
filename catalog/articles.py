"""Articles: Markdown pages that authors write about their personas."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.safestring import SafeString

from catalog import authoring, authors, markdown, personas, slugs
from catalog.consistent_read import consistent_read
from catalog.models import Article, Persona
from catalog.vocabulary import ArticleStatus
from config import waiting
from config.errors import BadRequest, Conflict, NotFound

ARTICLES_PER_PERSONA = 64


class NoSuchArticle(NotFound):
    message = "no such article: GET /personas/{id} lists the published ones, GET /me/personas/{id} yours"


class TooManyArticles(BadRequest):
    def __init__(self) -> None:
        super().__init__(
            f"articles: this persona has {ARTICLES_PER_PERSONA} of at most {ARTICLES_PER_PERSONA}; delete one"
            " (DELETE /personas/{id}/articles/{slug})"
        )


class SlugTaken(Conflict):
    def __init__(self, slug: str) -> None:
        super().__init__(f"slug: this persona has an article {slug!r}; leave it out to have one made from the title")


class UnshowableBody(BadRequest):
    def __init__(self, problem: str) -> None:
        super().__init__(f"body: {problem}; shorten it or make two articles of it")


def published(persona_id: str, slug: str) -> Article:
    """A published article, as visitors read it. Raises NoSuchPersona, NoSuchArticle."""
    return _found(personas.shown(persona_id), slug, status=ArticleStatus.PUBLISHED)


def shown(persona_id: str, slug: str) -> SafeString:
    """The body of a published article as HTML. Raises NoSuchPersona, NoSuchArticle."""
    return _found(personas.shown(persona_id), slug, leaving="body", status=ArticleStatus.PUBLISHED).shown


def of(persona: Persona) -> list[Article]:
    """All articles of a persona, newest first, without their bodies."""
    return list(Article.objects.filter(persona=persona).defer("body", "html")[:ARTICLES_PER_PERSONA])


def own_page(user_id: str, persona_id: str) -> tuple[Persona, list[Article]]:
    """The user's persona and all its articles, read at one moment. Raises NotYours."""
    with consistent_read():
        persona = authoring.own_one(user_id, persona_id)
        return persona, of(persona)


def one(persona: Persona, slug: str) -> Article:
    """The persona's article with this slug, a draft or a published one. Raises NoSuchArticle."""
    return _found(persona, slug)


def write(persona: Persona, *, texts: Mapping[str, Any], now: datetime) -> Article:
    """Create an article. Raises Banned, UnshowableBody, TooManyArticles, SlugTaken, Unavailable."""
    _refuse_full(persona)
    return _write(persona, texts={**texts, **_html(persona, texts)}, now=now)


@transaction.atomic
def _write(persona: Persona, *, texts: Mapping[str, Any], now: datetime) -> Article:
    authors.writing(str(persona.owner_id))
    persona = authoring.locked(persona)
    _refuse_full(persona)
    slug = texts.get("slug") or slugs.mint(texts["title"], otherwise="article")
    if Article.objects.filter(persona=persona, slug=slug).exists():
        raise SlugTaken(slug)
    article = Article(persona=persona, created_at=now, updated_at=now, **{**texts, "slug": slug})
    Article.objects.bulk_create([article])
    _show(article, now=now)
    return article


def change(article: Article, *, texts: Mapping[str, Any], now: datetime) -> Article:
    """Replace these fields of the article. Raises Banned, UnshowableBody, NoSuchArticle, Unavailable."""
    return _change(article, texts=texts, html=_html(article.persona, texts), now=now)


@transaction.atomic
def _change(article: Article, *, texts: Mapping[str, Any], html: Mapping[str, str], now: datetime) -> Article:
    authors.writing(str(article.persona.owner_id))
    article = _locked(article)
    changed = {name: value for name, value in texts.items() if getattr(article, name) != value}
    if not changed:
        return article
    if "body" in changed:
        changed |= html
    was = article.status
    Article.objects.filter(pk=article.pk).update(**changed, updated_at=now)
    article = _locked(article)
    _show(article, was, now=now)
    return article


@transaction.atomic
def delete(article: Article, *, now: datetime) -> None:
    """Delete the article for good. Visitors no longer see it. Raises NoSuchArticle if it is gone already."""
    authors.held(str(article.persona.owner_id))
    article = _locked(article)
    Article.objects.filter(pk=article.pk).delete()
    _show(article, now=now)


def _refuse_full(persona: Persona) -> None:
    if Article.objects.filter(persona=persona).count() >= ARTICLES_PER_PERSONA:
        raise TooManyArticles


def _html(persona: Persona, texts: Mapping[str, Any]) -> dict[str, str]:
    """The HTML of the body, if the texts have one. Rendering may take seconds, so no row and no connection is held."""
    if "body" not in texts:
        return {}
    author_id = str(persona.owner_id)
    authors.allowed(author_id)
    with markdown.queue.place(author_id):
        waiting.release_connection()
        made = markdown.rendering(texts["body"])
    if made.problem:
        raise UnshowableBody(made.problem)
    return {"html": made.html}


def _show(article: Article, *was: str, now: datetime) -> None:
    """Show the change to the persona's visitors if the article is, or was, published.

    Drafts change nothing for them.
    """
    if ArticleStatus.PUBLISHED in {article.status, *was}:
        authoring.touch(article.persona, now=now)


def _found(persona: Persona, slug: str, *, leaving: str = "html", **columns: str) -> Article:
    rows = Article.objects.filter(persona=persona, slug=slug, **columns).select_related("persona").defer(leaving)
    if slugs.is_slug(slug) and (found := rows.first()):
        return found
    raise NoSuchArticle


def _locked(article: Article) -> Article:
    rows = Article.objects.select_for_update(of=("self",)).select_related("persona").defer("html")
    rows = rows.filter(pk=article.pk)
    if found := rows.first():
        return found
    raise NoSuchArticle
