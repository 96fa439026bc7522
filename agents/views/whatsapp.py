"""`/agents/{id}/channels/whatsapp`: Meta's webhook of an agent's own WhatsApp app."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from agents.inbound import taking
from agents.inbound.serializers import WhatsappCallSerializer
from agents.models import Agent
from config import clock
from config.api import ApiViewSet, ReceivedSerializer
from config.parsing import Signed, signed_body

CALL_BYTES = 256 * 1024  # room for ten of the longest texts, as JSON escapes them
SIGNATURE_HEADER = "X-Hub-Signature-256"
_ASKED = ("hub.mode", "hub.verify_token", "hub.challenge")


class WhatsappViewSet(ApiViewSet):
    queryset = Agent.objects.none()  # the type of {id} for the OpenAPI document
    authentication_classes = ()
    permission_classes = (AllowAny,)
    parser_classes = (Signed,)
    serializer_class = WhatsappCallSerializer
    max_body_bytes = CALL_BYTES
    refusals = {"retrieve": {400, 403, 404}, "create": {400, 403, 404, 503}}

    @extend_schema(
        parameters=[OpenApiParameter(name, str, required=True) for name in _ASKED],
        responses={(200, "text/plain"): OpenApiResponse(OpenApiTypes.STR, description="The challenge, as it came.")},
    )
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """Answer Meta's handshake.

        For Meta, when an owner enters this address as the callback URL of a WhatsApp app, with the channel's
        `whatsappVerifyToken`. 403 for another token.
        """
        asked = {name: request.query_params.get(name, "") for name in _ASKED}
        return HttpResponse(taking.verify_whatsapp(id, asked), content_type="text/plain; charset=utf-8")

    @extend_schema(request=WhatsappCallSerializer, responses=ReceivedSerializer)
    def create(self, request: Request, id: str) -> Response:
        """Take messages that people wrote to the agent on WhatsApp.

        For Meta, which signs the body with the app's secret (`whatsappAppSecret`): `X-Hub-Signature-256`, else 403. 200
        means that they are kept; the engine gets them, in their order, as soon as it takes them. 503 when more than
        1,000 wait: Meta brings them again.
        """
        body = signed_body(request.data)
        taking.take_whatsapp(id, body, signature=request.headers.get(SIGNATURE_HEADER, ""), now=clock.now())
        return Response({"ok": True})
