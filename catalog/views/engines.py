"""GET /engines"""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from catalog import engines
from catalog.serializers.catalog import EnginesSerializer
from catalog.views.base import CatalogViewSet


class EnginesViewSet(CatalogViewSet):
    serializer_class = EnginesSerializer

    @extend_schema(responses={200: EnginesSerializer})
    def list(self, request: Request) -> HttpResponse:
        """List the engines.

        Those that an agent can be created with: what each can do and the smallest plan it fits.
        """
        return self.answer(request, "engines", lambda: EnginesSerializer({"engines": engines.offered()}).data)
