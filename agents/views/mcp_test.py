"""`POST /agents/{id}/mcp-test`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from agents.configuring import mcp_test
from agents.views.base import AgentViewSet
from config.api import Serializer, Text, envelope


class AskMcpServerSerializer(Serializer):
    name = Text(max_length=40, help_text="Of one of the agent's MCP servers.")


class McpTestSerializer(Serializer):
    """`tools` are the names that the server tells, at most 200; `error` says why it does not answer, else null."""

    ok = serializers.BooleanField()
    ms = serializers.IntegerField()
    tools = serializers.ListField(child=serializers.CharField())
    error = serializers.CharField(allow_null=True)


McpTestEnvelope = envelope("McpTestEnvelope", mcp_test=McpTestSerializer())


class McpTestViewSet(AgentViewSet):
    serializer_class = AskMcpServerSerializer
    refusals = {"create": {409}}
    no_dry_run = {"create": "it is a test itself, and changes nothing"}

    @extend_schema(request=AskMcpServerSerializer, responses=McpTestEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Ask one of the agent's MCP servers for its tools, from the agent's pod.

        The answer is 200 also when `ok` is false: the server is silent, not the call. Takes at most 20 seconds. No tool
        is called, and no model is asked. Servers with `command` are started by the engine, which alone can ask them:
        409, as for a stopped agent. An address that is neither public nor allowed by the operator is not asked.
        """
        tried = mcp_test.run(self.own_agent(id), **self.valid(request))
        return Response({"mcpTest": McpTestSerializer(tried).data})
