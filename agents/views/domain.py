"""`PUT` and `DELETE /agents/{id}/domain`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.configuring.changed_by import CHANGED_BY
from agents.domains import check, claims, names
from agents.serializers.domains import AgentDomainEnvelope, PutDomainSerializer
from agents.views.base import AgentViewSet


class DomainViewSet(AgentViewSet):
    changed_by = CHANGED_BY
    serializer_class = PutDomainSerializer
    refusals = {"update": {409}, "destroy": {409}}

    @extend_schema(request=PutDomainSerializer, responses=AgentDomainEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Give the agent a hostname of your own, in place of the one it has.

        It serves once the TXT record among `records` proves that the name is yours; a name that nobody else ever
        claimed here also serves for seven days while its address leads here. A claim that is never proved lapses after
        seven days. 409 while another agent has the name, unless the TXT record names your account: then it is taken
        over. Ask again to have DNS looked at now; otherwise it is looked at by itself, each minute at first.
        """
        agent = self.own_agent(id)
        domain = names.normalised(self.valid(request)["domain"])
        seen = check.look(self.caller().pk, domain)
        claims.claim(agent, domain, seen=seen, actor=self.actor())
        found = {
            "agent": self.own_agent(id),
            "check": check.from_dns(domain, seen),
            "records": check.to_set(domain, self.caller().pk),
        }
        body = AgentDomainEnvelope(found).data
        return Response({**body, "agent": self.permitted(body["agent"])})

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:
        """Give the agent's own hostname back.

        It stops serving at once, and stays your account's for 30 days. The agent keeps its name under the platform.
        """
        claims.release(self.own_agent(id), actor=self.actor())
        return Response(status=204)
