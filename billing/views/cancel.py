"""`POST /subscriptions/{id}/cancel`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller
from agents.views.base import AgentViewSet
from billing import cancellation
from billing.models import Subscription
from billing.serializers.subscriptions import SubscriptionEnvelope
from config import clock


class CancelViewSet(AgentViewSet):
    queryset = Subscription.objects.none()  # type: ignore[assignment]  # the type of {id} for the OpenAPI document
    refusals = {"create": {409}}

    @extend_schema(request=None, responses=SubscriptionEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Cancel a subscription.

        It stays usable until `currentPeriodEnd`. A licence must be cancelled at its provider too, which else goes on
        charging the card; what it charges is paid time again.
        """
        row = cancellation.cancel(caller(request), id, actor=self.actor(), now=clock.now())
        return Response(SubscriptionEnvelope({"subscription": row}).data)
