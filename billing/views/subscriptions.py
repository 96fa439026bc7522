"""`/subscriptions`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller, may, only_agent
from accounts.idempotency import idempotent
from accounts.scopes import Need
from agents.views.base import AgentViewSet
from billing import licences, purchasing
from billing.models import Subscription
from billing.ownership import agent_named
from billing.serializers.subscriptions import (
    AnySubscriptionSerializer,
    CreateSubscriptionSerializer,
    ListSubscriptionsSerializer,
    SubscriptionEnvelope,
    SubscriptionsEnvelope,
    SubscriptionSerializer,
)
from billing.views.orders import page_of
from billing.vocabulary import Provider
from config import clock


class SubscriptionsViewSet(AgentViewSet):
    queryset = Subscription.objects.none()  # type: ignore[assignment]  # the type of {id} for the OpenAPI document
    serializer_class = AnySubscriptionSerializer
    refusals = {"create": {403, 404, 409, 422, 429}, "list": {400, 403, 404}}

    @extend_schema(request=CreateSubscriptionSerializer, responses=SubscriptionEnvelope)
    @idempotent
    def create(self, request: Request) -> Response:
        """Pay for an agent with a licence key.

        The key is verified at its provider, which says what plan it pays for and until when; the agent gets that plan
        and the event `payment.confirmed`. One key pays for one agent: 409 while another has it. A key that was bought
        a minute ago may not be known yet: try again. At most 10 an hour. Crypto and stars are paid by orders.
        """
        wanted = self.valid(request)
        key = purchasing.key_of(Provider(wanted["provider"]), wanted.get("license_key"))
        agent = agent_named(caller(request), wanted["agent_id"], only=only_agent(request))
        row = licences.activate(
            agent, key, tier=wanted.get("tier"), period=wanted["period"], actor=self.actor(), now=clock.now()
        )
        return Response(SubscriptionEnvelope({"subscription": row}).data)

    @extend_schema(parameters=[ListSubscriptionsSerializer], responses=SubscriptionsEnvelope)
    def list(self, request: Request) -> Response:
        """List your subscriptions, newest first, with their licence keys.

        All of them up to 1,000; beyond that, or with `limit`, the next page is in `Link: <…>; rel="next"`.
        """
        page = page_of(
            request, Subscription.objects.all(), path="/subscriptions", ids="sub", query=ListSubscriptionsSerializer
        )
        found: list[dict[str, Any]] = list(SubscriptionSerializer(page.rows, many=True).data)
        if not may(request, Need.PAY):  # a licence key pays for any agent that it is activated for
            found = [{**one, "licenseKey": None} for one in found]
        return Response({"subscriptions": found}, headers=page.headers)
