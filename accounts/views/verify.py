"""POST /auth/verify"""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import client_address, clients, signin, throttling
from accounts.serializers import ATTRIBUTION_LENGTH, VerifiedSerializer, VerifySerializer
from config.api import ApiViewSet
from config.parsing import room_for


class VerifyViewSet(ApiViewSet):
    serializer_class = VerifySerializer
    max_body_bytes = room_for(characters=5 * ATTRIBUTION_LENGTH)
    authentication_classes = ()
    permission_classes = ()
    refusals = {"create": {401, 429}}

    @extend_schema(
        responses={200: VerifiedSerializer},
        examples=[
            OpenApiExample(
                "A code from the mail", value={"email": "ann@example.com", "code": "012345"}, request_only=True
            ),
            OpenApiExample(
                "Signed in",
                value={
                    "token": "st_live_0b6f…",
                    "user": {"id": "usr_5f0c9d2e7a41b3886d20c4f1", "email": "ann@example.com"},
                },
                response_only=True,
            ),
        ],
    )
    def create(self, request: Request) -> Response:
        """Exchange a sign-in code for a session token.

        Uses up the code and answers a session token that lives 30 days; the first sign-in makes the account. 401
        `INVALID_CODE` means wrong digits: try again with those of the newest mail. 401 `UNAUTHORIZED` means that no
        code waits for this address: ask for one with `POST /auth/request`; or, to the right code, that the account is
        suspended or that new ones are not taken at the moment. 429 after 10 well-formed requests in 10 minutes from one
        IP address, and after 5 wrong tries from it at one code: get a new one. Wrong tries from elsewhere do not count
        for the IP address that asked for the code, or that signed in as this e-mail in the last 90 days; all other IP
        addresses share 50 wrong tries an hour, and beyond those who has not mistyped more than once in a day has one.
        Next: `POST /keys` for a key that does not expire.
        """
        body = self.valid(request)
        now = timezone.now()
        household = client_address.household_of(request.META)
        throttling.spend(throttling.AUTH_VERIFY, by=household, now=now)
        email = body.pop("email")
        client = clients.named(request.META)
        token, user = signin.verify_code(email, **body, household=household, client=client, now=now)
        return Response(VerifiedSerializer({"token": token, "user": user}).data)
