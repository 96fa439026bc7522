"""`/pennies/orders` and `/payments/pennies/callback`."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller
from billing.models import Order
from billing.ownership import agent_named
from billing.vocabulary import Period
from config import clock
from config.api import ApiViewSet, Choice, ModelSerializer, Serializer, Text
from tests.billing.providers.adding.pennies import orders


class CreatePenniesOrderSerializer(Serializer):
    agent_id = Text(max_length=40)
    period = Choice(Period.choices)


class PenniesOrderSerializer(ModelSerializer):
    class Meta:
        model = Order
        fields = ("id", "agent_id", "status")


class PenniesWordSerializer(Serializer):
    order = serializers.CharField()


class PenniesOrdersViewSet(ApiViewSet):
    serializer_class = CreatePenniesOrderSerializer

    def create(self, request: Request) -> Response:
        wanted = self.valid(request)
        agent = agent_named(caller(request), wanted["agent_id"])
        placed = orders.order(agent, tier=None, period=Period(wanted["period"]), now=clock.now())
        return Response({"order": PenniesOrderSerializer(placed).data, "payment": {"url": orders.bill_of(placed)}})


class PenniesCallbackViewSet(ApiViewSet):
    """Anybody may call: it only says which bill to ask Pennies about."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    serializer_class = PenniesWordSerializer

    def create(self, request: Request) -> Response:
        orders.look(self.valid(request)["order"], now=clock.now())
        return Response({"ok": True})
