"""GET /tools"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from catalog import engines, tools
from catalog.models import Engine
from catalog.serializers.catalog import ToolsSerializer
from catalog.views.base import CatalogViewSet
from catalog.vocabulary import ENGINE_IDS


class CatalogToolsViewSet(CatalogViewSet):
    serializer_class = ToolsSerializer

    @extend_schema(
        parameters=[OpenApiParameter("engine", str, enum=ENGINE_IDS, description="Only those this engine supports.")],
        responses={200: ToolsSerializer},
    )
    def list(self, request: Request) -> HttpResponse:
        """List the toolsets.

        Their ids go into `tools.enabled` of an agent, if its engine is among `engines`. An empty `enabled` means those
        that are `defaultEnabled` on its engine: the list tells of the default engine, with `engine` of that one.
        """
        asked = self.filter_of(request, "engine")
        engine = None if asked is None else engines.known_engine(asked)
        return self.answer(request, f"tools of {asked}", lambda: _told(engine))


def _told(engine: Engine | None) -> dict[str, Any]:
    return ToolsSerializer({"tools": tools.offered(engine)}, context={"engine": engine}).data
