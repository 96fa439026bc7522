"""Articles of personas: /personas/{id}/articles, and the author's own reading at /me/personas/{id}/articles/{slug}."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from catalog import articles, authoring
from catalog.changed_by import ARTICLE
from catalog.models import Article
from catalog.models.personas import ARTICLE_LENGTH
from catalog.serializers.authors import ArticleEnvelope, PatchArticleSerializer, WriteArticleSerializer
from catalog.views.authored import AuthoredViewSet
from config.parsing import room_for


class ArticlesViewSet(AuthoredViewSet):
    changed_by = ARTICLE
    open_actions = ("retrieve",)
    refusals = {"create": {403, 409}, "partial_update": {403}, "destroy": {403}}
    max_body_bytes = room_for(utf8_bytes=ARTICLE_LENGTH)

    def get_serializer_class(self) -> type[Any]:
        return WriteArticleSerializer if self.action == "create" else PatchArticleSerializer

    @extend_schema(responses=ArticleEnvelope)
    def retrieve(self, request: Request, id: str, slug: str) -> Response:
        """Read an article.

        A published one of a public persona, with its body in Markdown. The body is as its author wrote it: sanitise
        what you make of it before you show it.
        """
        return _answer(articles.published(id, slug))

    @extend_schema(responses=ArticleEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Write an article about a persona of yours.

        It is a draft unless `status` is `published`; visitors read it while the persona is published too. A persona has
        at most 64.
        """
        persona = self.writable(id)
        return _answer(articles.write(persona, texts=self.valid(request), now=timezone.now()))

    @extend_schema(responses=ArticleEnvelope)
    def partial_update(self, request: Request, id: str, slug: str) -> Response:
        """Change an article of yours.

        What is absent stays as it is. `status` publishes it and takes it back.
        """
        article = articles.one(self.writable(id), slug)
        return _answer(articles.change(article, texts=self.valid(request), now=timezone.now()))

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, id: str, slug: str) -> Response:
        """Delete an article of yours, for good."""
        articles.delete(articles.one(self.writable(id), slug), now=timezone.now())
        return Response(status=204)


class OwnArticlesViewSet(AuthoredViewSet):
    @extend_schema(responses=ArticleEnvelope)
    def retrieve(self, request: Request, id: str, slug: str) -> Response:
        """Read an article of yours, a draft too, with its body."""
        return _answer(articles.one(authoring.own_one(self.caller_id(), id), slug))


def _answer(article: Article) -> Response:
    return Response(ArticleEnvelope({"article": article}).data)
