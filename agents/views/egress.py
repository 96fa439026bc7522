"""`GET` and `PUT /agents/{id}/egress`, `…/egress/secrets/{name}` and `…/egress/log`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.egress import rules, visits
from agents.egress.models import Egress
from agents.serializers.egress import (
    EgressEnvelope,
    EgressLogEnvelope,
    EgressLogQuerySerializer,
    PutEgressSecretSerializer,
    PutEgressSerializer,
)
from agents.views.base import AgentViewSet
from config.parsing import MAX_BODY_BYTES


def _answer(egress: Egress) -> Response:
    return Response(EgressEnvelope({"egress": egress}).data)


class EgressViewSet(AgentViewSet):
    serializer_class = PutEgressSerializer
    max_body_bytes = MAX_BODY_BYTES

    @extend_schema(responses=EgressEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell which hosts the agent's engine may ask, and which secrets its gateway adds for it."""
        return _answer(rules.of(self.own_agent(id)))

    @extend_schema(request=PutEgressSerializer, responses=EgressEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Set the list of hosts that the agent's engine may ask, and switch it on or off. Secrets stay.

        The engine reaches the internet through a proxy in its pod's gateway as long as the list is on or there is a
        secret. Private addresses are refused in any case. `enforced` says whether the network itself allows no other
        way out. The first use and the last one restart the engine; other changes reach a running pod at once.
        """
        agent = self.own_agent(id)
        return _answer(rules.replace(agent, actor=self.actor(), **self.valid(request)))


class EgressSecretsViewSet(AgentViewSet):
    serializer_class = PutEgressSecretSerializer

    @extend_schema(request=PutEgressSecretSerializer, responses=EgressEnvelope)
    def update(self, request: Request, id: str, name: str) -> Response:
        """Set a secret that the gateway adds to the engine's requests to some hosts, so that the engine never has it.

        The engine asks `https://` as usual, with any value in that header or without it. The gateway ends TLS with a
        certificate of the pod's own authority, sets the header, and asks the real host over verified TLS. What the
        answer repeats of the secret is masked. Values are never shown again. At most 32.
        """
        agent = self.own_agent(id)
        return _answer(rules.put_secret(agent, name, actor=self.actor(), **self.valid(request)))

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, id: str, name: str) -> Response:
        """Forget this secret. The gateway stops adding it at once."""
        rules.remove_secret(self.own_agent(id), name, actor=self.actor())
        return Response(status=204)


class EgressLogViewSet(AgentViewSet):
    @extend_schema(parameters=[EgressLogQuerySerializer], responses=EgressLogEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell which hosts the agent's engine asked for through the broker, by day, with counts and bytes.

        The newest day is first. Days are UTC and kept for 30 days. The newest figures are up to half a minute old.
        """
        agent = self.own_agent(id)
        return Response(EgressLogEnvelope({"log": visits.shown(agent, **self.query(EgressLogQuerySerializer))}).data)
