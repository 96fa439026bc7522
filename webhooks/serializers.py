"""The wire shapes of hooks and their tests (spec: Webhook endpoints, WebhookDelivery)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from config.api import Serializer, Text
from webhooks.models import EventType
from webhooks.testing import Report


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

    def to_representation(self, instance: Report) -> dict[str, Any]:
        body: dict[str, Any] = super().to_representation(instance)
        return {name: value for name, value in body.items() if name != "error" or value is not None}


class WebhookDeliveryEnvelope(Serializer):
    delivery = WebhookDeliverySerializer()
