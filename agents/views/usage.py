"""`GET /agents/{id}/usage`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import limited_key
from agents.serializers.usage import UsageEnvelope, UsageQuerySerializer
from agents.spending import usage
from agents.spending.usage import UsageBy
from agents.views.base import AgentViewSet


class UsageViewSet(AgentViewSet):
    @extend_schema(parameters=[UsageQuerySerializer], responses=UsageEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell what the agent's model calls took: tokens, and USD by the catalog's prices.

        Counted in the pod's key proxy from the provider's own figures; where a provider tells none, they are estimated
        and counted in `estimatedCalls`. `by=day` has a row for each day with calls, oldest first; `by=model` and
        `by=session` have the dearest first, 1,000 at most. `by=key` has a row for each API key whose turns made calls;
        what no key started (pages, channels, schedules) has none, and a call for which turns of two keys were open is
        in both rows. A limited key sees its own row alone. Days are UTC, a call belongs to the day on which it began,
        and days are kept for 400 days. The newest figures are up to half a minute old.
        """
        agent = self.own_agent(id)
        query = self.query(UsageQuerySerializer)
        by = UsageBy(query.pop("by", UsageBy.DAY))
        limited = limited_key(request)
        found = usage.costs(agent, by=by, only_key=limited.pk if limited else None, **query)
        return Response(UsageEnvelope({"usage": found}).data)
