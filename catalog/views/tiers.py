"""GET /tiers"""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from catalog import tiers
from catalog.serializers.catalog import TiersSerializer
from catalog.views.base import CatalogViewSet


class TiersViewSet(CatalogViewSet):
    serializer_class = TiersSerializer

    @extend_schema(responses={200: TiersSerializer})
    def list(self, request: Request) -> HttpResponse:
        """List the plans.

        The one source of truth for prices and resources, with the terms of the free trial. The answer has an `ETag`.
        """
        return self.answer(
            request, "tiers", lambda: TiersSerializer({"tiers": tiers.offered(), "trial": tiers.trial()}).data
        )
