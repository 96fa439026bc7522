"""POST /auth/request"""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import get_language_from_request
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import client_address, signin, throttling
from accounts.serializers import RequestedSerializer, RequestSerializer
from config.api import ApiViewSet


class RequestViewSet(ApiViewSet):
    serializer_class = RequestSerializer
    authentication_classes = ()
    permission_classes = ()
    refusals = {"create": {429}}

    @extend_schema(
        responses={202: RequestedSerializer},
        examples=[
            OpenApiExample("A request", value={"email": "ann@example.com"}, request_only=True),
            OpenApiExample("Accepted", value={"ok": True}, response_only=True, status_codes=["202"]),
        ],
    )
    def create(self, request: Request) -> Response:
        """Mail a sign-in code.

        Mails a six-digit code, valid 10 minutes, to the address; a code asked for before stops working. The answer is
        202 whether or not the address has an account. At most 10 well-formed requests per 10 minutes and IP address;
        past 10 mails per mailbox and hour no more are sent, and the answer stays 202. Next: `POST /auth/verify`.
        """
        body = self.valid(request)
        now = timezone.now()
        throttling.spend(throttling.AUTH_REQUEST, by=client_address.household(client_address.of(request.META)), now=now)
        code = signin.request_code(body["email"], lang=get_language_from_request(request), now=now)
        return Response({"ok": True} if code is None else {"ok": True, "devCode": code}, status=202)
