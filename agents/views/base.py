"""Shared by every view of one agent: finding the caller's agent, and the answer with it."""

from __future__ import annotations

from typing import Any, cast

from rest_framework.response import Response

from accounts.models import User
from agents.errors import NoSuchAgent
from agents.models import Agent
from agents.serializers.agents import AgentSerializer
from config import log_context
from config.api import ApiViewSet
from config.ids import is_id


class AgentViewSet(ApiViewSet):
    queryset = Agent.objects.none()  # the type of {id} for the OpenAPI document; rows come from own_agent

    def caller(self) -> User:
        return cast("User", self.request.user)

    def own_agent(self, id: str) -> Agent:
        """The caller's agent of this id. Raises NoSuchAgent for another account's agent, a deleted one, and text that
        is no id."""
        own = Agent.objects.owned_by(self.caller().pk).live().select_related("hook", "quota_snapshot")
        agent = own.filter(pk=id).first() if is_id("agt", id) else None
        if agent is None:
            raise NoSuchAgent
        log_context.note(agentId=agent.id)
        return agent

    def answer(self, agent: Agent) -> Response:
        return Response({"agent": AgentSerializer(agent).data})

    def actor(self) -> str:
        """Who makes this call, for the timeline: `user:usr_…` or `key:key_…`."""
        credential: Any = self.request.auth
        return f"key:{credential.pk}" if credential.pk.startswith("key_") else f"user:{self.caller().pk}"
