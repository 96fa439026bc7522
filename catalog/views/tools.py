"""GET /tools"""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from catalog import engines, tools
from catalog.serializers import ToolsSerializer
from catalog.views.base import CatalogViewSet
from catalog.vocabulary import EngineId


class ToolsViewSet(CatalogViewSet):
    serializer_class = ToolsSerializer

    @extend_schema(
        parameters=[
            OpenApiParameter("engine", str, enum=EngineId.values, description="Only those this engine supports.")
        ],
        responses={200: ToolsSerializer},
    )
    def list(self, request: Request) -> HttpResponse:
        """List the toolsets.

        Their ids go into `tools.enabled` of an agent. An empty `enabled` means those that are `defaultEnabled` here, as
        far as the agent's engine supports them.
        """
        asked = self.filter_of(request, "engine")
        engine = None if asked is None else engines.known_engine(asked)
        return self.answer(request, f"tools of {asked}", lambda: ToolsSerializer({"tools": tools.offered(engine)}).data)
