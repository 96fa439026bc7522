"""`/subscriptions/{id}/next-plan`."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller, limited_key
from billing import next_plans, spending
from billing.next_plans import FollowingPlan
from billing.ownership import own_subscription
from billing.serializers.subscriptions import ChooseNextPlanSerializer, NextPlanEnvelope
from billing.views.base import OwnSubscriptionViewSet
from config import clock


class NextPlanViewSet(OwnSubscriptionViewSet):
    serializer_class = ChooseNextPlanSerializer
    refusals = {"update": {409, 429}}

    @extend_schema(responses=NextPlanEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell which plan follows when the paid time ends.

        `nextPlan` is null where the plan stays.
        """
        return _answer(next_plans.of(caller(request), id, now=timezone.now()))

    @extend_schema(request=ChooseNextPlanSerializer, responses=NextPlanEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Choose a smaller plan for the time after what is paid.

        The agent keeps its plan until then. A card that renews is charged the smaller plan's price from the next period
        on; where nothing renews, the agent has the smaller plan when its paid time is over, and is paid for on it. What
        is bought of another plan meanwhile starts at once and ends this choice. A licence changes its plan at its
        provider (409).
        """
        wanted = self.valid(request)
        self._refuse_spender(id)
        found = next_plans.choose(caller(request), id, tier=wanted["tier"], actor=self.actor(), now=clock.now())
        return _answer(found)

    def destroy(self, request: Request, id: str) -> Response:
        """Keep the plan after all."""
        self._refuse_spender(id)
        next_plans.drop(caller(request), id, actor=self.actor(), now=clock.now())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _refuse_spender(self, id: str) -> None:
        """A key with a spend limit changes no card's price. Raises CardsCannotBeLimited."""
        if key := limited_key(self.request):
            spending.refuse_card(own_subscription(key.user, id).agent, key=key)


def _answer(found: FollowingPlan | None) -> Response:
    return Response(NextPlanEnvelope({"next_plan": found}).data)
