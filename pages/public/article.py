"""/p/{slug}/{article}: an article exists in one language, so its page has one address."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpResponseBase, HttpResponseRedirect
from rest_framework.request import Request

from catalog import articles, personas
from catalog.models import Article, Persona
from pages.languages import WIRE, Language
from pages.public import structured
from pages.public.base import PublicPageViewSet, answer, framed
from pages.public.plain import description, line
from pages.public.printing import press
from pages.public.reading import article_address, card


class ArticleViewSet(PublicPageViewSet):
    def retrieve(self, request: Request, slug: str, article: str, lang: Language | None = None) -> HttpResponseBase:
        found = _found(slug, article)
        if lang or "lang" in request.query_params:
            return HttpResponseRedirect(article_address(found))
        made = press.get(f"p/{slug}/{article}", lambda: _framed(slug, article))
        return answer(request, made, {"Content-Language": WIRE[found.lang].code})


def _found(slug: str, article: str) -> Article:
    for one in personas.shown(slug).articles.all():
        if one.slug == article:
            return one
    raise articles.NoSuchArticle


def _framed(slug: str, article: str) -> str:
    """Render the article. It is looked up again: the one found before may belong to an older version of the catalog."""
    found = _found(slug, article)
    return framed(
        "article.html", partial(_content, personas.shown(slug), found), f"p/{slug}/{article}", WIRE[found.lang]
    )


def _content(persona: Persona, article: Article, language: Language) -> dict[str, Any]:
    return {
        "persona": card(persona, language),
        "article": article,
        "title": line(article.title),
        "description": description(article.summary or article.title),
        "body": articles.shown(persona.id, article.slug),
        "canonical": article_address(article),
        "alternates": [],
        "structured": structured.article(article, persona, language),
    }
