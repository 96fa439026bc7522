"""`POST /subscriptions/{id}/move`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller, only_agent
from billing import moving
from billing.ownership import agent_named
from billing.serializers.subscriptions import MoveSubscriptionSerializer, SubscriptionEnvelope
from billing.views.base import OwnSubscriptionViewSet
from config import clock


class MoveViewSet(OwnSubscriptionViewSet):
    serializer_class = MoveSubscriptionSerializer
    refusals = {"create": {400, 403, 409}}

    @extend_schema(request=MoveSubscriptionSerializer, responses=SubscriptionEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Move a deleted agent's paid time.

        When an agent is deleted, what is paid and not used stays its account's for 90 days; its subscription is
        `canceled`. This gives it to another agent of the account: on the plan that this one pays for, at its list
        price, else on its own. The answer is the subscription that has it now.
        """
        taker = agent_named(caller(request), self.valid(request)["agent_id"], only=only_agent(request))
        row = moving.move(caller(request), id, to=taker, actor=self.actor(), now=clock.now())
        return Response(SubscriptionEnvelope({"subscription": row}).data)
