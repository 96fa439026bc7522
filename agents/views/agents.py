"""`/agents` and `/agents/{id}`: create, list, read, change, delete."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import only_agent
from accounts.idempotency import idempotent, keep
from agents import creation, listing
from agents.configuring import profile
from agents.configuring.changed_by import CHANGED_BY
from agents.running import lifecycle
from agents.serializers import etag
from agents.serializers.agents import (
    AgentEnvelope,
    AgentsEnvelope,
    AgentSerializer,
    CreateAgentSerializer,
    CreatedAgentEnvelope,
    ListAgentsSerializer,
    PatchAgentSerializer,
    ReadAgentSerializer,
)
from agents.views import quick_reads
from agents.views.base import AgentViewSet
from agents.views.settling import settles
from catalog import tiers
from config import clock, preferences
from config.parsing import MAX_BODY_BYTES


class AgentsViewSet(AgentViewSet):
    changed_by = CHANGED_BY
    own_fields = ("list", "retrieve")  # the rest is not even made
    quick_reads = {"retrieve": quick_reads.one, "list": quick_reads.every}
    refusals = {"create": {409, 422}, "partial_update": {409}}
    max_body_bytes = MAX_BODY_BYTES  # for MCP servers

    def cost_of(self, response: Response) -> str:
        if self.action == "destroy":
            return super().cost_of(response)
        return f"{super().cost_of(response)}, monthly={tiers.tier_of(response.data['agent']['tier']).monthly_usd:.2f}"

    def get_serializer_class(self) -> type[Any]:
        return CreateAgentSerializer if self.action == "create" else PatchAgentSerializer

    @extend_schema(request=CreateAgentSerializer, responses=CreatedAgentEnvelope)
    @settles
    @idempotent
    def create(self, request: Request) -> Response:
        """Create an agent.

        It starts as `provisioning` on the free trial and becomes `running` or `failed` by itself: poll
        `GET /agents/{id}` or take webhooks. It costs nothing until a subscription is bought; `DELETE` undoes it.
        Without `llmKey` it runs but says nothing: install one with `PATCH /agents/{id}/llm-key`. 503 with `Retry-After`
        while the operator has closed creating, or the platform has no free place left.
        """
        user = self.caller()
        clock.now()  # the free days begin now, so a wrong clock is refused
        wanted = creation.checked(user, creation.NewAgent(**creation.values_of(self.valid(request))))
        with transaction.atomic():
            agent, secret = creation.create(user, wanted, actor=self.actor())
            body = self.json_of(agent)
            return keep(Response({"agent": body, "webhookSecret": secret}, headers={"ETag": etag.etag_of(body)}))

    @extend_schema(parameters=[ListAgentsSerializer], responses=AgentsEnvelope)
    def list(self, request: Request) -> Response:
        """List your agents, newest first, without deleted ones.

        All of them up to 1,000; beyond that, or with `limit`, the next page is in `Link: <…>; rel="next"`.
        """
        query = self.query(ListAgentsSerializer)
        page = listing.page(self.caller(), only=only_agent(request), **query)
        bodies = AgentSerializer(page.rows, many=True, only=query.get("fields")).data
        return Response({"agents": [self.permitted(body) for body in bodies]}, headers=page.headers)

    @extend_schema(parameters=[ReadAgentSerializer], responses=AgentEnvelope)
    @settles
    def retrieve(self, request: Request, id: str) -> Response:
        """Read one agent.

        Its `ETag` in `If-None-Match` saves reading it again (304), and in `If-Match` of a change makes sure that nobody
        has changed the agent in between (412). With `Prefer: wait=60` the answer comes when the agent has settled.
        """
        self.chosen = self.query(ReadAgentSerializer).get("fields")
        answer = self.answer(self.own_agent(id))
        if_none_match, tag = request.headers.get("If-None-Match", ""), answer.get("ETag")
        if tag and etag.is_known(tag, if_none_match) and not preferences.wait_seconds(request):
            return Response(status=304, headers={"ETag": tag})
        return answer

    @extend_schema(request=PatchAgentSerializer, responses=AgentEnvelope)
    def partial_update(self, request: Request, id: str) -> Response:
        """Change plain settings: name, lang, timezone, extraSoul, tier.

        The pod takes the change in place within 30 seconds and stays `running`. The tier can be changed only while the
        agent is free, to a larger one only during its trial. Send only what changes: any other field of an agent is
        400, and the message names the call that changes it.
        """
        agent = self.own_agent(id)
        return self.answer(profile.change(agent, **self.valid(request)))

    @extend_schema(responses={204: None})
    @settles
    def destroy(self, request: Request, id: str) -> Response:
        """Delete an agent with its data, for good.

        Reads answer 404 at once; the event `agent.deleted` follows when pod and data are gone.
        """
        lifecycle.delete(self.own_agent(id), actor=self.actor())
        return Response(status=204)
