"""`GET` and `PUT /keys/{id}/limits`."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import keys
from accounts.authentication import caller, limited_key
from accounts.errors import NoSuchKey
from accounts.models import ApiKey
from accounts.permissions import SessionOnly
from agents.serializers.limits import KeyLimitsEnvelope, PutKeyLimitsSerializer
from agents.spending import key_limits
from config.api import ApiViewSet


class KeyLimitsViewSet(ApiViewSet):
    serializer_class = PutKeyLimitsSerializer
    refusals = {"update": {403}}

    def get_permissions(self) -> list[BasePermission]:
        return [IsAuthenticated()] if self.action == "retrieve" else [IsAuthenticated(), SessionOnly()]

    @extend_schema(responses=KeyLimitsEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell what model calls may cost in turns that the API key starts, and what they have cost; null is no limit.

        A limited key sees its own alone. The newest figures are up to half a minute old.
        """
        limited = limited_key(request)
        if limited is not None and limited.pk != id:
            raise NoSuchKey
        return _answer(keys.own(caller(request), id))

    @extend_schema(request=PutKeyLimitsSerializer, responses=KeyLimitsEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Limit what model calls may cost in turns that the API key starts, with all agents together.

        They hold beside the limits of agents and of the account. Needs a session token, and a key with the scope
        `operate`. At 80 percent you get a mail, at 100 percent a new turn of the key is 503, and model calls of its
        turns that run are refused with words that the engine shows. A turn takes a change at its start, one that runs
        within half a minute. A limit is exceeded by one call, by what calls under way take above their estimates, and
        by what turns with other agents take in twenty seconds. What the engine calls within half a minute after the
        turn counts too; what it does later by itself, and what comes by channels and pages, does not.
        """
        return _answer(key_limits.replace(caller(request), id, **self.valid(request)))


def _answer(key: ApiKey) -> Response:
    today, month = key_limits.spent_by(key, now=timezone.now())
    return Response(KeyLimitsEnvelope({"limits": {"key": key, "today": today, "month": month}}).data)
