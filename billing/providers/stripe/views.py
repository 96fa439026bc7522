"""`/stripe/orders`, `/stripe/portal`, `/payments/stripe/callback`, and the page `/account/agents/{id}/card`."""

from __future__ import annotations

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller
from accounts.idempotency import idempotent
from billing.models import StripeOrder
from billing.providers.stripe import callback, customers, orders
from billing.providers.stripe.serializers import (
    CreateStripeOrderSerializer,
    PortalEnvelope,
    StripeEventSerializer,
    StripeOrderEnvelope,
    StripeOrdersEnvelope,
)
from billing.serializers.orders import ListOrdersSerializer
from billing.views.orders import OrdersViewSet
from config import clock
from config.api import ApiViewSet, ReceivedSerializer
from config.parsing import Signed, signed_body
from pages.account.agents.base import AgentPagePage

SIGNATURE_HEADER = "Stripe-Signature"
EVENT_BYTES = 256 * 1024  # an invoice with many lines has some 100 KiB


@extend_schema_view(list=extend_schema(parameters=[ListOrdersSerializer], responses=StripeOrdersEnvelope))
class StripeOrdersViewSet(OrdersViewSet):
    path, ids = "/stripe/orders", "cso"
    queryset = StripeOrder.objects.all()
    envelope, list_envelope = StripeOrderEnvelope, StripeOrdersEnvelope
    serializer_class = CreateStripeOrderSerializer
    refusals = {"create": {404, 409, 422}, "list": {400, 404}}

    @extend_schema(request=CreateStripeOrderSerializer, responses=StripeOrderEnvelope)
    @idempotent
    def create(self, request: Request) -> Response:
        """Order a plan, to be paid by card for each month or year.

        A person opens `payment.checkoutUrl` within the hour and enters a card, which is charged at once and again for
        each period, until the subscription is canceled here or there. The agent is `paid` as soon as Stripe tells us:
        the event `payment.confirmed`, or poll `GET /stripe/orders/{id}`. The same order again is the pending one; other
        terms replace it, unless it has just been paid (409). Another plan by card takes the place of the one that is
        charged now; the same one is 409, since it renews by itself.
        """
        wanted = self.valid(request)
        return self.placed(request, wanted, orders.order, coupon=wanted.get("coupon", ""))

    @extend_schema(responses=StripeOrderEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Read one order: `paid` once its card was charged, `expired` when nobody paid within the hour."""
        return self.shown(self.own(request, id))


class StripePortalViewSet(ApiViewSet):
    serializer_class = PortalEnvelope
    refusals = {"create": {400, 409}}

    @extend_schema(request=None, responses=PortalEnvelope)
    def create(self, request: Request) -> Response:
        """Open Stripe's page where a person changes the card, reads Stripe's receipts and cancels.

        409 until a first order has been made. What is paid stays paid, whatever is canceled there.
        """
        return Response(PortalEnvelope({"portal": {"url": customers.portal(caller(request))}}).data)


class CardPage(AgentPagePage):
    """Show a page that leads to Stripe. Not a redirect: a form must not lead to another host (`POLICY`)."""

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.go(f"/account/agents/{self.own_agent(id).pk}")

    def create(self, request: Request, id: str) -> HttpResponseBase:
        agent = self.own_agent(id)
        address = customers.portal(caller(request), back=f"/account/agents/{agent.pk}")
        return self.page("card.html", {"agent": agent, "address": address})


class StripeCallbackViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    parser_classes = (Signed,)
    serializer_class = StripeEventSerializer
    max_body_bytes = EVENT_BYTES

    @extend_schema(request=StripeEventSerializer, responses=ReceivedSerializer)
    def create(self, request: Request) -> Response:
        """Take what Stripe tells of cards, charges and refunds.

        For Stripe alone, which signs it: `Stripe-Signature` of one of our secrets, not older than five minutes, else
        400. 200 means that it is stored; a worker then asks Stripe how things are.
        """
        body = signed_body(request.data)
        callback.receive(body, signature=request.headers.get(SIGNATURE_HEADER, ""), now=clock.now())
        return Response({"ok": True})
