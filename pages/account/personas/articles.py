"""/account/personas/{id}/articles: articles that a person writes about their own persona."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from catalog import articles
from catalog.models import Article, Persona
from catalog.serializers.authors import PatchArticleSerializer, WriteArticleSerializer
from catalog.vocabulary import ArticleLang, ArticleStatus
from config.errors import ServiceError
from pages.account.personas import persona_form
from pages.account.personas.personas import PATH, PersonasPagePage, article_form
from pages.languages import WIRE


class NewArticlePage(PersonasPagePage):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.writing(self.own(id), None, article_form(None))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        persona, form = self.own(id), self.form()
        given = WriteArticleSerializer(data=form)
        if not given.is_valid():
            return self.writing(persona, None, form, problem=persona_form.malformed(given.errors), status=400)
        try:
            article = articles.write(persona, texts=given.validated_data, now=timezone.now())
        except ServiceError as refusal:
            return self.writing(persona, None, form, problem=persona_form.refused(refusal), status=refusal.status)
        return self.go(f"{PATH}/{id}/articles/{article.slug}?saved")

    def form(self) -> dict[str, str]:
        """The typed fields. If the box is ticked, the article is published."""
        texts = {name: self.typed(name).replace("\r\n", "\n").strip() for name in ("title", "summary", "lang", "body")}
        return {**texts, "status": ArticleStatus.PUBLISHED if self.typed("published") else ArticleStatus.DRAFT}

    def writing(
        self, persona: Persona, article: Article | None, form: dict[str, Any], *, problem: str = "", status: int = 200
    ) -> HttpResponseBase:
        context = {
            "persona": persona,
            "article": article,
            "form": form,
            "published": form["status"] == ArticleStatus.PUBLISHED,
            "languages": [(one.value, WIRE[one.value].label) for one in ArticleLang],
            "body": article.shown if article else "",
            "saved": "saved" in self.sent.GET,
            "problem": problem,
        }
        return self.page("article_edit.html", context, status=status)


class ArticleEditPage(NewArticlePage):
    def retrieve(self, request: Request, id: str, slug: str) -> HttpResponseBase:  # type: ignore[override]  # adds slug
        persona = self.own(id)
        article = articles.one(persona, slug)
        return self.writing(persona, article, article_form(article))

    def create(self, request: Request, id: str, slug: str) -> HttpResponseBase:  # type: ignore[override]  # adds slug
        persona, form = self.own(id), self.form()
        article = articles.one(persona, slug)
        given = PatchArticleSerializer(data=form)
        if not given.is_valid():
            return self.writing(persona, article, form, problem=persona_form.malformed(given.errors), status=400)
        try:
            articles.change(article, texts=given.validated_data, now=timezone.now())
        except ServiceError as refusal:
            return self.writing(persona, article, form, problem=persona_form.refused(refusal), status=refusal.status)
        return self.go(f"{PATH}/{id}/articles/{slug}?saved")


class DeleteArticlePage(PersonasPagePage):
    """Delete an article. The page first says what that means."""

    def retrieve(self, request: Request, id: str, slug: str) -> HttpResponseBase:
        persona = self.own(id)
        return self.page("article_delete.html", {"persona": persona, "article": articles.one(persona, slug)})

    def create(self, request: Request, id: str, slug: str) -> HttpResponseBase:
        articles.delete(articles.one(self.own(id), slug), now=timezone.now())
        return self.go(f"{PATH}/{id}#articles")
