"""`PUT` and `DELETE /agents/{id}/webhook`, `POST /agents/{id}/webhook/test`."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.configuring.changed_by import CHANGED_BY
from agents.serializers.agents import AgentSerializer
from agents.views.awaiting import answered
from agents.views.base import AgentViewSet
from config.api import Serializer
from webhooks import addresses, hooks, testing
from webhooks.event_types import EventType
from webhooks.serializers import (
    ReceiverSerializer,
    WebhookDeliveryEnvelope,
    WebhookSerializer,
)


class AgentWebhookEnvelope(Serializer):
    """The agent and its webhook; the secret is shown by this answer alone."""

    agent = AgentSerializer()
    webhook = WebhookSerializer()


class WebhookViewSet(AgentViewSet):
    changed_by = CHANGED_BY
    serializer_class = ReceiverSerializer
    refusals = {"test": {409}}

    @extend_schema(
        request=ReceiverSerializer,
        responses=AgentWebhookEnvelope,
        examples=[
            OpenApiExample("A receiver", value={"url": "https://receiver.example.com/events"}, request_only=True)
        ],
    )
    def update(self, request: Request, id: str) -> Response:
        """Set the receiver of the agent's events, or rotate its secret.

        Each call mints a new secret, shown only here. For 24 hours the previous one signs beside it, in
        `X-Service-Signature-Previous`. Events that wait for a retry go to the new address. With another URL
        `webhookLastStatus`, `webhookLastAt` and `webhookLastEvent` are null until an event was sent there.
        """
        agent = self.own_agent(id)
        url = addresses.checked(self.valid(request)["url"], account=agent.user_id)
        agent.hook, secret = hooks.install(agent, url=url, now=timezone.now())
        webhook = {"url": url, "secret": secret, "events": EventType.values}
        return Response({"agent": self.json_of(agent), "webhook": WebhookSerializer(webhook).data})

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:
        """Remove the webhook.

        The receiver and its secrets are forgotten, and what is still to be sent is canceled. Repeating succeeds.
        """
        hooks.remove(self.own_agent(id))
        return Response(status=204)

    @extend_schema(
        request=None,
        responses=WebhookDeliveryEnvelope,
        examples=[
            OpenApiExample("It arrived", value={"delivery": {"ok": True, "status": 204, "attempts": 1}}),
            OpenApiExample("It was refused", value={"delivery": {"ok": False, "status": 500, "attempts": 3}}),
            OpenApiExample(
                "Nobody answered",
                value={"delivery": {"ok": False, "status": None, "attempts": 3, "error": "timeout"}},
            ),
        ],
    )
    def test(self, request: Request, id: str) -> HttpResponseBase:
        """Send a `test` event with all retries and wait for its outcome.

        About 70 seconds with a dead receiver, 80 with one that never answers; after 90 it is 503 with `Retry-After`,
        and calling again joins the test. The answer is 200 also when `ok` is false: the delivery failed, not the call.
        `error` is one of timeout, dns, connect, tls, address refused, protocol, internal, canceled, and absent where
        there is a `status`. Without a webhook 409: set one with `PUT /agents/{id}/webhook`.
        """
        return answered(self, request, testing.begin(self.own_agent(id)))
