"""`GET /agents/{id}/webhook/deliveries` and `POST /agents/{id}/webhook/deliveries/{delivery}/redeliver`."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.views.awaiting import answered
from agents.views.base import AgentViewSet
from webhooks import delivery_log, redelivery
from webhooks.serializers import (
    DeliveriesEnvelope,
    DeliverySerializer,
    ListDeliveriesSerializer,
    WebhookDeliveryEnvelope,
)

_ENDED = {
    "id": "evt_0b6f2d9c41e7a35880d6c2f10b6f2d9c",
    "type": "agent.running",
    "state": "failed",
    "status": None,
    "error": "timeout",
    "attempts": 3,
    "durationMs": 10001,
    "createdAt": "2026-11-21T06:30:00.123456Z",
    "finishedAt": "2026-11-21T06:31:40.331207Z",
}


class DeliveriesViewSet(AgentViewSet):
    refusals = {"redeliver": {409}}

    @extend_schema(
        parameters=[ListDeliveriesSerializer],
        responses=DeliveriesEnvelope,
        examples=[OpenApiExample("A receiver that did not answer", value={"deliveries": [_ENDED]})],
    )
    def list(self, request: Request, id: str) -> Response:
        """List what became of the agent's events on their way to its webhook.

        One entry for each event, newest first, until seven days after it ended. `state` is pending, delivered, failed
        or canceled. All of them up to 1,000; beyond that, or with `limit`, the next page is in `Link: <…>; rel="next"`.
        Events from before there was a webhook are not among them: `GET /agents/{id}/events` has those too.
        """
        page = delivery_log.page(self.own_agent(id), **self.query(ListDeliveriesSerializer))
        headers = {"Link": f'<{page.next_url}>; rel="next"'} if page.next_url else {}
        return Response({"deliveries": DeliverySerializer(page.deliveries, many=True).data}, headers=headers)

    @extend_schema(
        request=None,
        parameters=[
            OpenApiParameter("delivery", str, OpenApiParameter.PATH, description="The event's id, from the list.")
        ],
        responses=WebhookDeliveryEnvelope,
        examples=[OpenApiExample("It arrived", value={"delivery": {"ok": True, "status": 204, "attempts": 1}})],
    )
    def redeliver(self, request: Request, id: str, delivery: str) -> HttpResponseBase:
        """Send an event again and wait for its outcome.

        The same id and the same bytes go to the webhook that the agent has now, with all retries: up to 80 seconds
        with a dead receiver, and 200 also when `ok` is false. 503 with `Retry-After` when there is no outcome after 90:
        call again. A redelivery that runs already is joined. 409 while the event is being delivered for the first time,
        and without a webhook: set one with `PUT /agents/{id}/webhook`.
        """
        return answered(self, request, redelivery.begin(self.own_agent(id), delivery, actor=self.actor()))
