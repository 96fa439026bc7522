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

        Mails a six-digit code, valid 10 minutes, to the e-mail address. A code that you asked for before, from the same
        IP address, stops working. The answer is 202 whether or not there is an account. At most 10 well-formed requests
        per 10 minutes and IP address. An IP address from which somebody signed in as this e-mail in the last 90 days
        has 10 mails an hour. All others together have 3, and after those one more whenever none was sent for 5
        minutes; each of them has 5. Where no mail is sent the answer stays 202, and the newest mail's code is good.
        Next: `POST /auth/verify`, from the same IP address if you can.
        """
        body = self.valid(request)
        now = timezone.now()
        household = client_address.household_of(request.META)
        throttling.spend(throttling.AUTH_REQUEST, by=household, now=now)
        lang = get_language_from_request(request)
        code = signin.request_code(body["email"], household=household, lang=lang, now=now)
        return Response({"ok": True} if code is None else {"ok": True, "devCode": code}, status=202)
