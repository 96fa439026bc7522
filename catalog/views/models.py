"""GET /models"""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from catalog import llm_models, llm_providers
from catalog.serializers.catalog import ModelsSerializer
from catalog.views.base import CatalogViewSet
from catalog.vocabulary import ProviderId


class ModelsViewSet(CatalogViewSet):
    serializer_class = ModelsSerializer

    @extend_schema(
        parameters=[
            OpenApiParameter("provider", str, enum=ProviderId.values, description="Only of this LLM provider.")
        ],
        responses={200: ModelsSerializer},
    )
    def list(self, request: Request) -> HttpResponse:
        """List the models.

        An `id` goes into `model` when an agent is created or its LLM key is installed; its provider must be the key's.
        """
        asked = self.filter_of(request, "provider")
        provider = None if asked is None else llm_providers.known_provider(asked, field="provider").id
        return self.answer(
            request, f"models of {provider}", lambda: ModelsSerializer({"models": llm_models.offered(provider)}).data
        )
