"""`/crypto` and `/crypto/orders`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.idempotency import idempotent
from billing import coupons
from billing.models import CryptoOrder
from billing.providers.crypto import orders, sooner
from billing.providers.crypto.serializers import (
    CreateCryptoOrderSerializer,
    CryptoEnvelope,
    CryptoOrderEnvelope,
    CryptoOrdersEnvelope,
)
from billing.serializers.orders import ListOrdersSerializer
from billing.views.orders import OrdersViewSet
from billing.vocabulary import Asset
from config.api import ApiViewSet


class CryptoViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    serializer_class = CryptoEnvelope

    @extend_schema(responses=CryptoEnvelope)
    def retrieve(self, request: Request) -> Response:
        """Tell whether stablecoins can be paid with, in which, and on which chain."""
        return Response(CryptoEnvelope({"crypto": orders.info()}).data)


@extend_schema_view(list=extend_schema(parameters=[ListOrdersSerializer], responses=CryptoOrdersEnvelope))
class CryptoOrdersViewSet(OrdersViewSet):
    path, ids = "/crypto/orders", "cry"
    queryset = CryptoOrder.objects.select_related("deposit_address")
    envelope, list_envelope = CryptoOrderEnvelope, CryptoOrdersEnvelope
    serializer_class = CreateCryptoOrderSerializer
    refusals = {"create": {403, 404, 409, 422, 503}, "list": {400, 403, 404}}

    @extend_schema(request=CreateCryptoOrderSerializer, responses=CryptoOrderEnvelope)
    @idempotent
    def create(self, request: Request) -> Response:
        """Order a month or a year of a plan, to be paid in a stablecoin.

        Send `payment.amount` (in the token's smallest unit) of `payment.tokenContract` on chain `payment.chainId` to
        `payment.address`, in one transfer or several, after this call: what came before does not count. The agent is
        `paid` once the chain calls it final, which takes seconds to 20 minutes: the event `payment.confirmed`, or poll
        `GET /crypto/orders/{id}`. The same order again is the pending one; other terms replace it, unless money for it
        was seen (409). 503 while the chain cannot be read.
        """
        wanted = self.valid(request)
        asset, coupon = Asset(wanted["asset"]), coupons.code_of(wanted.get("coupon"))
        return self.placed(request, wanted, orders.place, asset=asset, coupon=coupon)

    @extend_schema(responses=CryptoOrderEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Read one order: `paid` once its money is final, `expired` when none came within a day.

        Money that comes within 14 days after that still pays it, if there is no newer order.
        """
        order = self.own(request, id)
        sooner.look(order)
        return self.shown(order)
