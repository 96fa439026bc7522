"""POST /auth/verify"""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import client_address, signin, throttling
from accounts.serializers import VerifiedSerializer, VerifySerializer
from config.api import ApiViewSet


class VerifyViewSet(ApiViewSet):
    serializer_class = VerifySerializer
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
        suspended or that new ones are not taken at the moment. At most 10 well-formed requests per 10 minutes and IP
        address, and 20 wrong tries per mailbox and hour, over all addresses that land in it. Next: `POST /keys` for a
        key that does not expire.
        """
        body = self.valid(request)
        now = timezone.now()
        throttling.spend(throttling.AUTH_VERIFY, by=client_address.household(client_address.of(request.META)), now=now)
        email = body.pop("email")
        token, user = signin.verify_code(email, **body, now=now)
        return Response(VerifiedSerializer({"token": token, "user": user}).data)
