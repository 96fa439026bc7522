"""/personas: everybody may read, authors may write. /me/personas: the caller's own personas."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from catalog import articles, authoring, personas, search
from catalog.changed_by import PERSONA
from catalog.serializers.authors import (
    DraftPersonaSerializer,
    OwnPersonaPageSerializer,
    PatchPersonaSerializer,
    PersonaEnvelope,
)
from catalog.serializers.catalog import NoSuchPersonaSerializer, PersonaPageSerializer, PersonasSerializer
from catalog.serializers.search import FindPersonasSerializer
from catalog.views import publication
from catalog.views.authored import AuthoredViewSet
from catalog.views.base import CatalogViewSet, narrowed
from config.parsing import MAX_BODY_BYTES

_FILTERS = tuple(FindPersonasSerializer().fields)


class PersonasViewSet(AuthoredViewSet, CatalogViewSet):
    changed_by = PERSONA
    open_actions = ("list", "retrieve")
    refusals = {"create": {403}, "partial_update": {403}, "destroy": {403, 409}}
    max_body_bytes = MAX_BODY_BYTES  # for texts in six languages

    def get_serializer_class(self) -> type[Any]:
        return DraftPersonaSerializer if self.action == "create" else PatchPersonaSerializer

    @extend_schema(parameters=[FindPersonasSerializer], responses={200: PersonasSerializer})
    def list(self, request: Request) -> HttpResponse:
        """List, filter and search the personas.

        Built-in and published community ones, with their localizations. Without parameters all of them: the answer is
        large and has an `ETag`: send it back in `If-None-Match`, and accept gzip. With any parameter a page: the next
        one is in `Link: <…>; rel="next"`. A parameter without a value counts as not given.
        """
        asked = self.asked(request)
        page = search.find(search.PersonaQuery(**asked)) if asked else None
        if self.chosen_fields is not None:
            response = narrowed(publication.narrowed(page.personas if page else None, self.chosen_fields))
        elif page is None:
            return self.preferred(request, publication.all_personas())
        else:
            response = self.preferred(request, publication.joined(page.personas))
        if page and page.cursor:
            following = urlencode({**asked, "cursor": page.cursor})
            response["Link"] = f'<{settings.BASE_URL}/personas?{following}>; rel="next"'
        return response

    def asked(self, request: Request) -> dict[str, Any]:
        """The parameters that have a value."""
        if not request.META.get("QUERY_STRING"):
            return {}
        given = {name: self.filter_of(request, name) for name in _FILTERS}
        filled = {name: value for name, value in given.items() if value and not value.isspace()}
        if not filled:
            return {}
        query = FindPersonasSerializer(data=filled)
        query.is_valid(raise_exception=True)
        asked: dict[str, Any] = query.validated_data
        return asked

    @extend_schema(responses={200: PersonaPageSerializer, 404: NoSuchPersonaSerializer})
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """Read a persona.

        With the list of its published articles, without their bodies. Its `id` is the `personaId` of `POST /agents`.
        """
        return self.preferred(request, publication.page(id))

    @extend_schema(responses=PersonaEnvelope)
    def create(self, request: Request) -> Response:
        """Write a persona.

        A draft that only you see, with a `name` and as much of the rest as you have: `PATCH /personas/{id}` adds to it,
        `POST /personas/{id}/publish` shows it to everybody. Its `id` is made from the name and never changes. An
        account has at most 64.
        """
        return self.answer_persona(authoring.draft(self.caller_id(), texts=self.valid(request), now=timezone.now()))

    @extend_schema(responses=PersonaEnvelope)
    def partial_update(self, request: Request, id: str) -> Response:
        """Change a persona of yours.

        What is absent stays as it is; null removes `disclaimer`, `doesExamples`, `demo` or a language. What is
        published must stay complete (400 names the field) and shows the change within a second; agents that have it
        keep the soul they were made with until they are rebuilt.
        """
        persona = self.writable(id)
        return self.answer_persona(authoring.change(persona, texts=self.valid(request), now=timezone.now()))

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:
        """Delete a persona of yours, for good.

        With its articles. 409 while agents use it: unpublish it instead.
        """
        authoring.delete(self.writable(id), now=timezone.now())
        return Response(status=204)

    def handle_exception(self, exc: Exception) -> Response:
        """An unknown persona is the only 404 without a message (docs/spec.md: Errors)."""
        response = super().handle_exception(exc)
        if self.action == "retrieve" and isinstance(exc, personas.NoSuchPersona):
            response.data = {"error": exc.code.value}
        return response


class OwnPersonasViewSet(AuthoredViewSet):
    @extend_schema(responses=PersonasSerializer)
    def list(self, request: Request) -> Response:
        """List the personas that you wrote, newest first, drafts too."""
        return Response(PersonasSerializer({"personas": authoring.own(self.caller_id())}).data)

    @extend_schema(responses=OwnPersonaPageSerializer)
    def retrieve(self, request: Request, id: str) -> Response:
        """Read a persona that you wrote, a draft too.

        With the list of its articles, drafts too, without their bodies.
        """
        persona, listed = articles.own_page(self.caller_id(), id)
        return Response(OwnPersonaPageSerializer({"persona": persona, "articles": listed}).data)
