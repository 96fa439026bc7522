"""`/stars`, `/stars/orders` and `/payments/stars/callback`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.idempotency import idempotent
from billing import coupons
from billing.models import StarsOrder
from billing.providers.stars import bot, callback, orders
from billing.providers.stars.serializers import (
    CreateStarsOrderSerializer,
    StarsEnvelope,
    StarsOrderEnvelope,
    StarsOrdersEnvelope,
    TelegramUpdateSerializer,
)
from billing.serializers.orders import ListOrdersSerializer
from billing.views.orders import OrdersViewSet
from config import clock
from config.api import ApiViewSet, ReceivedSerializer
from config.parsing import room_for

MESSAGE_CHARACTERS = 4_096  # the longest message at Telegram; it may quote other messages
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 # a header's name


class StarsViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    serializer_class = StarsEnvelope

    @extend_schema(responses=StarsEnvelope)
    def retrieve(self, request: Request) -> Response:
        """Tell whether Telegram Stars can be paid with, and what a star is worth here."""
        return Response(StarsEnvelope({"stars": bot.info()}).data)


@extend_schema_view(list=extend_schema(parameters=[ListOrdersSerializer], responses=StarsOrdersEnvelope))
class StarsOrdersViewSet(OrdersViewSet):
    path, ids = "/stars/orders", "stx"
    queryset = StarsOrder.objects.all()
    envelope, list_envelope = StarsOrderEnvelope, StarsOrdersEnvelope
    serializer_class = CreateStarsOrderSerializer
    refusals = {"create": {404, 409, 422}, "list": {400, 404}}

    @extend_schema(request=CreateStarsOrderSerializer, responses=StarsOrderEnvelope)
    @idempotent
    def create(self, request: Request) -> Response:
        """Order a month or a year of a plan, to be paid in Telegram Stars.

        Open `payment.invoiceUrl` in Telegram within the hour and pay; whoever pays, it is this agent's. The agent is
        `paid` as soon as Telegram tells us: the event `payment.confirmed`, or poll `GET /stars/orders/{id}`. The same
        order again is the pending one; other terms replace it, unless somebody is just paying it (409).
        """
        wanted = self.valid(request)
        return self.placed(request, wanted, orders.order, coupon=coupons.code_of(wanted.get("coupon")))

    @extend_schema(responses=StarsOrderEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Read one order: `paid` once its stars have come in, `expired` when nobody paid within the hour."""
        return self.shown(self.own(request, id))


class StarsCallbackViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    serializer_class = TelegramUpdateSerializer
    refusals = {"create": {401}}
    max_body_bytes = room_for(characters=4 * MESSAGE_CHARACTERS)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the secret before anything else, even before the body is read."""
        if self.action == "create":  # other methods get 405 without a check
            bot.check_secret(request.headers.get(SECRET_HEADER, ""))
        super().initial(request, *args, **kwargs)

    @extend_schema(request=TelegramUpdateSerializer, responses=ReceivedSerializer)
    def create(self, request: Request) -> Response:
        """Take what Telegram tells of payments in stars.

        For Telegram alone, which shows the secret of `X-Telegram-Bot-Api-Secret-Token`. 200 means that it is stored.
        """
        callback.receive(self.valid(request), now=clock.now())
        return Response({"ok": True})
