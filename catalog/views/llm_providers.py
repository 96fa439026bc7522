"""GET /llm-providers"""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from catalog import engines, llm_providers
from catalog.serializers.catalog import LlmProvidersSerializer
from catalog.views.base import CatalogViewSet
from catalog.vocabulary import ENGINE_IDS


class LlmProvidersViewSet(CatalogViewSet):
    serializer_class = LlmProvidersSerializer

    @extend_schema(
        parameters=[OpenApiParameter("engine", str, enum=ENGINE_IDS, description="Only those this engine accepts.")],
        responses={200: LlmProvidersSerializer},
    )
    def list(self, request: Request) -> HttpResponse:
        """List the LLM providers.

        The vendors whose keys an agent can be given. `google` and `gemini` are one vendor under two ids.
        """
        asked = self.filter_of(request, "engine")
        engine = None if asked is None else engines.known_engine(asked)
        return self.answer(
            request,
            f"llm-providers of {asked}",
            lambda: LlmProvidersSerializer({"llm_providers": llm_providers.offered(engine)}).data,
        )
