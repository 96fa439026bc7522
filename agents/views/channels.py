"""`PUT /agents/{id}/channels`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.configuring import channels
from agents.configuring.changed_by import CHANGED_BY
from agents.configuring.channels import MAX_SECRET_CHARACTERS, SECRET_NAMES
from agents.serializers.agents import AgentEnvelope, ChannelsSerializer
from agents.views.base import AgentViewSet
from config.parsing import room_for


class ChannelsViewSet(AgentViewSet):
    changed_by = CHANGED_BY
    serializer_class = ChannelsSerializer
    max_body_bytes = room_for(characters=(len(SECRET_NAMES) + 1) * MAX_SECRET_CHARACTERS)

    @extend_schema(request=ChannelsSerializer, responses=AgentEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Set the channels and, where given, their secrets.

        A secret that is absent is kept, null forgets it. `telegramToken` is an alias of `channelSecrets.telegramToken`.
        """
        agent = self.own_agent(id)
        return self.answer(channels.replace(agent, **self.valid(request)))
