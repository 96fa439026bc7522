"""GET /me/author, PUT /me/author"""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from catalog import authors
from catalog.changed_by import AUTHOR
from catalog.models import Author
from catalog.serializers.authors import AuthorEnvelope, RenameAuthorSerializer
from catalog.views.authored import AuthoredViewSet


class AuthorViewSet(AuthoredViewSet):
    changed_by = AUTHOR
    serializer_class = RenameAuthorSerializer
    refusals = {"update": {403}}

    @extend_schema(responses=AuthorEnvelope)
    def retrieve(self, request: Request) -> Response:
        """Tell under which name your personas appear.

        Nothing of your e-mail address is ever part of it. Changes nothing.
        """
        return _answer(authors.of(self.caller_id()))

    @extend_schema(responses=AuthorEnvelope)
    def update(self, request: Request) -> Response:
        """Choose the name under which your personas appear.

        All of them show it within a second.
        """
        return _answer(authors.rename(self.caller_id(), **self.valid(request), now=timezone.now()))


def _answer(author: Author) -> Response:
    return Response(AuthorEnvelope({"author": author}).data)
