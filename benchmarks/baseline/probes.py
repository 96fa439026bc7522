"""The product with two more views, each empty behind authentication: one records the use of the key, one does not."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.authentication import BearerAuthentication
from accounts.errors import InvalidKey
from accounts.models import ApiKey, User
from config.crypto import sha256


class NotNoting(BearerAuthentication):
    """Finds the key by the same digest, and records nothing."""

    def authenticate(self, request: Request) -> tuple[User, ApiKey]:
        token = request.META["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
        key = ApiKey.objects.select_related("user").filter(digest=sha256(token), revoked_at__isnull=True).first()
        if key is None or not key.user.is_active:
            raise InvalidKey
        return key.user, key


class Noting(APIView):
    schema = None

    def get(self, request: Request) -> Response:
        return Response({})


class Plain(Noting):
    authentication_classes = (NotNoting,)


urlpatterns = [
    path("", include("config.urls")),
    path("noting", Noting.as_view()),
    path("not-noting", Plain.as_view()),
]
