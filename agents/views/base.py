"""Shared by every view of one agent: finding the caller's agent, and the answer with it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import only_agent, sees_secrets
from accounts.models import User
from agents import expected
from agents.errors import AgentWasChanged, NoSuchAgent
from agents.models import Agent
from agents.serializers import etag
from agents.serializers.agents import AgentSerializer
from agents.serializers.hidden import without_secrets
from config import log_context
from config.api import ApiViewSet
from config.ids import is_id


class AgentViewSet(ApiViewSet):
    has_etag = True  # of the agent in the path: calls that write take `If-Match`
    queryset = Agent.objects.none()  # the type of {id} for the OpenAPI document; rows come from own_agent

    chosen: Collection[str] | None = None

    def caller(self) -> User:
        return cast("User", self.request.user)

    def own_agent(self, id: str) -> Agent:
        """The caller's agent of this id. Raises NoSuchAgent for another account's agent, a deleted one, and text that
        is no id."""
        own = Agent.objects.owned_by(self.caller().pk).live().seen_by(only_agent(self.request))
        own = own.select_related("hook", "quota_snapshot")
        agent = own.filter(pk=id).first() if is_id("agt", id) else None
        if agent is None:
            raise NoSuchAgent
        log_context.note(agentId=agent.id)
        self._expect(agent)
        return agent

    def _expect(self, agent: Agent) -> None:
        """Compare `If-Match` with the agent now, and again when the agent is locked for the change."""
        if_match = self.request.headers.get("If-Match")
        if if_match is None or self.request.method in SAFE_METHODS:
            return

        def is_expected(now: Agent) -> bool:
            return etag.is_expected(self.permitted(AgentSerializer(now).data), if_match)

        if not is_expected(agent):
            raise AgentWasChanged
        expected.expect(agent.pk, is_expected)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        expected.forget()
        return super().finalize_response(request, response, *args, **kwargs)

    def json_of(self, agent: Agent) -> dict[str, Any]:
        """The agent in its JSON form, with the fields that the caller has chosen."""
        return self.permitted(AgentSerializer(agent, only=self.chosen).data)

    def permitted(self, body: dict[str, Any]) -> dict[str, Any]:
        """The agent's JSON form as this caller may see it."""
        return body if sees_secrets(self.request) else without_secrets(body)

    def answer(self, agent: Agent) -> Response:
        body = self.json_of(agent)
        return Response({"agent": body}, headers={"ETag": etag.etag_of(body)} if self.chosen is None else {})

    def actor(self) -> str:
        """Who makes this call, for the timeline: `user:usr_…` or `key:key_…`."""
        credential: Any = self.request.auth
        return f"key:{credential.pk}" if credential.pk.startswith("key_") else f"user:{self.caller().pk}"
