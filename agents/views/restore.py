"""`POST /agents/{id}/backups/{name}/restore`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.backups import by_owner, restoring
from agents.serializers.agents import AgentEnvelope
from agents.views.base import AgentViewSet
from agents.views.settling import settles


class RestoreViewSet(AgentViewSet):
    refusals = {"create": {409}}

    @extend_schema(request=None, responses=AgentEnvelope)
    @settles
    def create(self, request: Request, id: str, name: str) -> Response:
        """Put this backup in the place of the agent's data.

        A rebuild: the agent goes to `provisioning`, and its engine starts on the restored data. What there is now is
        kept until then; after a restore that failed, `rebuild` begins with it again.
        """
        agent = self.own_agent(id)
        backup = by_owner.named(agent, name)
        restoring.restore(agent, backup, actor=self.actor())
        return self.answer(self.own_agent(id))
