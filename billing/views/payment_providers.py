"""`GET /payment-providers`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from billing.providers import registry
from billing.serializers.subscriptions import PaymentProvidersEnvelope
from config.api import ApiViewSet


class PaymentProvidersViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    serializer_class = PaymentProvidersEnvelope

    @extend_schema(responses=PaymentProvidersEnvelope)
    def retrieve(self, request: Request) -> Response:
        """List the ways to pay.

        `soon` is not configured here yet and refuses orders. Licence keys are bought at `buyUrls`, or `buyUrl`, and
        activated with `POST /subscriptions`.
        """
        return Response(PaymentProvidersEnvelope({"payment_providers": registry.offers()}).data)
