"""/p/{slug}/{article}: in the language that the article is in, so at one address."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, HttpResponseRedirect
from rest_framework.request import Request

from catalog import articles, markdown, personas
from catalog.models import Article, Persona
from catalog.pages import structured
from catalog.pages.base import PageViewSet, answer, framed
from catalog.pages.languages import WIRE, Language
from catalog.pages.plain import description, line
from catalog.pages.printing import press
from catalog.pages.reading import article_address, card


class ArticleViewSet(PageViewSet):
    def retrieve(self, request: Request, slug: str, article: str, lang: Language | None = None) -> HttpResponseBase:
        persona = personas.shown(slug)
        found = next((one for one in persona.articles.all() if one.slug == article), None)
        if found is None:
            raise articles.NoSuchArticle
        if lang or "lang" in request.query_params:
            return HttpResponseRedirect(article_address(found))
        language, path = WIRE[found.lang], f"p/{slug}/{article}"
        made = press.get(path, lambda: framed("article.html", lambda _: _content(persona, found), path, language))
        return answer(request, made, {"Content-Language": language.code})


def _content(persona: Persona, article: Article) -> dict[str, Any]:
    body = articles.published(persona.id, article.slug).body
    language = WIRE[article.lang]
    return {
        "persona": card(persona, language),
        "article": article,
        "title": line(article.title),
        "description": description(article.summary or article.title),
        "body": markdown.to_html(body),
        "canonical": article_address(article),
        "alternates": [],
        "structured": structured.article(article, persona, language),
    }
