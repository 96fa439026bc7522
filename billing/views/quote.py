"""`GET /subscriptions/quote`."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller, only_agent
from billing import coupons, quotes
from billing.ownership import agent_named
from billing.serializers.subscriptions import AskQuoteSerializer, QuoteEnvelope
from billing.vocabulary import Period, Provider
from config.api import ApiViewSet


class QuoteViewSet(ApiViewSet):
    serializer_class = QuoteEnvelope
    refusals = {"retrieve": {400, 403, 404, 409, 429}}

    @extend_schema(parameters=[AskQuoteSerializer], responses=QuoteEnvelope)
    def retrieve(self, request: Request) -> Response:
        """Tell what a period would cost, and until when the agent would be paid.

        Changes nothing, and needs no provider that is `active`. Time left of another plan is converted into the new
        one. A licence's price is its provider's: the amount here is ours.
        """
        query = AskQuoteSerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        asked = query.validated_data
        agent = agent_named(caller(request), asked["agent_id"], only=only_agent(request))
        period, provider = Period(asked["period"]), Provider(asked["provider"])
        found = quotes.quote(
            agent,
            tier=asked.get("tier"),
            period=period,
            provider=provider,
            coupon=coupons.code_of(asked.get("coupon")),
            now=timezone.now(),
        )
        return Response(QuoteEnvelope({"quote": found}).data)
