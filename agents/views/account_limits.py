"""`GET` and `PUT /me/limits`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller
from agents.serializers.limits import AccountLimitsEnvelope, PutAccountLimitsSerializer
from agents.spending import account_limits
from config.api import ApiViewSet


class AccountLimitsViewSet(ApiViewSet):
    serializer_class = PutAccountLimitsSerializer

    @extend_schema(responses=AccountLimitsEnvelope)
    def retrieve(self, request: Request) -> Response:
        """Tell the limits of the model calls of all your agents together; null is no limit."""
        return Response(AccountLimitsEnvelope({"limits": account_limits.of(caller(request))}).data)

    @extend_schema(request=PutAccountLimitsSerializer, responses=AccountLimitsEnvelope)
    def update(self, request: Request) -> Response:
        """Limit what the model calls of all your agents may take together; or stop them all with `stopped`.

        They hold beside the limits of each agent (`PUT /agents/{id}/limits`), with the same mails and refusals. Running
        agents take a change within half a minute. A limit can be exceeded by what the agents take in twenty seconds,
        because each learns so often what the others took. An agent whose model has no price in the catalog is refused
        its calls while there is a limit in USD.
        """
        limits = account_limits.replace(caller(request), **self.valid(request))
        return Response(AccountLimitsEnvelope({"limits": limits}).data)
