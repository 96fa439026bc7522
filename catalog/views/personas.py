"""GET /personas, GET /personas/{id}"""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from catalog import personas
from catalog.serializers import NoSuchPersonaSerializer, PersonaPageSerializer, PersonasSerializer
from catalog.views.base import CatalogViewSet


class PersonasViewSet(CatalogViewSet):
    serializer_class = PersonasSerializer

    @extend_schema(responses={200: PersonasSerializer})
    def list(self, request: Request) -> HttpResponse:
        """List the personas.

        Built-in and published community ones, with their localizations. The answer is large and has an `ETag`: send it
        back in `If-None-Match`, and accept gzip.
        """
        return self.answer(request, "personas", lambda: PersonasSerializer({"personas": personas.public()}).data)

    @extend_schema(responses={200: PersonaPageSerializer, 404: NoSuchPersonaSerializer})
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """Read a persona.

        With the list of its published articles, without their bodies. Its `id` is the `personaId` of `POST /agents`.
        """
        persona = personas.shown(id)
        return self.answer(
            request,
            f"persona {persona.id}",
            lambda: PersonaPageSerializer({"persona": persona, "articles": persona.articles.all()}).data,
        )

    def handle_exception(self, exc: Exception) -> Response:
        """The one 404 without a message (spec: Errors)."""
        response = super().handle_exception(exc)
        if isinstance(exc, personas.NoSuchPersona):
            response.data = {"error": exc.code.value}
        return response
