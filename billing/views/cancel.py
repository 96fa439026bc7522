"""`POST /subscriptions/{id}/cancel`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller
from billing import cancellation
from billing.serializers.subscriptions import SubscriptionEnvelope
from billing.views.base import OwnSubscriptionViewSet
from config import clock


class CancelViewSet(OwnSubscriptionViewSet):
    refusals = {"create": {409}}

    @extend_schema(request=None, responses=SubscriptionEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Cancel a subscription.

        It stays usable until `currentPeriodEnd`. A licence must be cancelled at its provider too, which else goes on
        charging the card; what it charges is paid time again.
        """
        row = cancellation.cancel(caller(request), id, actor=self.actor(), now=clock.now())
        return Response(SubscriptionEnvelope({"subscription": row}).data)
