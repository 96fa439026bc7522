"""The JSON forms of hooks, deliveries and events (docs/spec.md: Webhook endpoints, WebhookEvent and
WebhookDelivery).
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api import Serializer, Text, envelope
from config.numbers import QueryNumber
from webhooks import delivery_log, event_log
from webhooks.event_types import EventType
from webhooks.models import Delivery, Problem, State
from webhooks.openapi import LoggedEventSerializer
from webhooks.reports import DeliveryReport


class ReceiverSerializer(Serializer):
    url = Text(help_text="Absolute http:// or https:// address on a public host.")


class WebhookSerializer(Serializer):
    """The receiver, and its signing secret, which is shown this once."""

    url = serializers.URLField()
    secret = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(choices=EventType.choices))


class WebhookDeliverySerializer(Serializer):
    """How a delivery ended. `status` is null when the receiver was unreachable; `error` then says why."""

    ok = serializers.BooleanField()
    status = serializers.IntegerField(allow_null=True)
    attempts = serializers.IntegerField()
    error = serializers.CharField(required=False)

    def to_representation(self, instance: DeliveryReport) -> dict[str, Any]:
        body: dict[str, Any] = super().to_representation(instance)
        return {name: value for name, value in body.items() if name != "error" or value is not None}


WebhookDeliveryEnvelope = envelope("WebhookDeliveryEnvelope", delivery=WebhookDeliverySerializer())


class ListDeliveriesSerializer(Serializer):
    """The query of `GET /agents/{id}/webhook/deliveries`."""

    limit = QueryNumber(
        min_value=1, max_value=delivery_log.MAX_PAGE, required=False, help_text="Deliveries on a page; 1,000 if absent."
    )
    cursor = Text(required=False, max_length=200, help_text="From the `Link` header of the page before.")


class DeliverySerializer(Serializer):
    """An event on its way to the receiver. `status`, `error` and `durationMs` are those of the latest attempt."""

    id = serializers.CharField(source="event_id", help_text="The event's id, as in `X-Service-Delivery`.")
    type = serializers.ChoiceField(source="event.type", choices=EventType.choices)
    state = serializers.ChoiceField(choices=State.choices)
    status = serializers.IntegerField(source="http_status", allow_null=True, help_text="HTTP status, null without one.")
    error = serializers.SerializerMethodField(help_text="Why there is no status, null where there is one.")
    attempts = serializers.IntegerField(help_text="Attempts that have ended, of at most three.")
    duration_ms = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True, help_text="Null while it is pending.")

    @extend_schema_field(serializers.ChoiceField(choices=Problem.choices, allow_null=True))
    def get_error(self, delivery: Delivery) -> str | None:
        return delivery.error or None


DeliveriesEnvelope = envelope("DeliveriesEnvelope", deliveries=DeliverySerializer(many=True))


class ListEventsSerializer(Serializer):
    """The query of `GET /agents/{id}/events`."""

    after = Text(required=False, max_length=200, help_text="The id of the last event you have; it is not repeated.")
    limit = QueryNumber(
        min_value=1, max_value=event_log.MAX_PAGE, required=False, help_text="Events on a page; 100 if absent."
    )


EventsEnvelope = envelope("EventsEnvelope", events=LoggedEventSerializer(many=True))
