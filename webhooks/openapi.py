"""The events that receivers get: the webhooks section of `/openapi.json` (docs/spec.md: Events)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, OpenApiWebhook, extend_schema
from rest_framework import serializers

from config.api import Serializer
from webhooks.event_types import EVENTS, EventType, LoggedType

DELIVERY = (
    "Verify the signature over the raw body, in constant time, before acting. Answer any 2xx within 10 seconds. "
    "Otherwise the event comes again 10 seconds later and once more a minute after that, with the same id and the same "
    "bytes; then it is dropped and the outcome stands in the agent's `webhookLastStatus`. The order of events is not "
    "guaranteed: use `createdAt`."
)


class EventAgentSerializer(Serializer):
    id = serializers.CharField()
    status = serializers.CharField()
    name = serializers.CharField()
    engine = serializers.CharField()
    tier = serializers.CharField()
    endpoint_url = serializers.URLField(allow_null=True)


class WebhookEventSerializer(Serializer):
    """What is sent to the receiver (spec: WebhookEvent). `data` depends on the type."""

    id = serializers.CharField(help_text="Equals `X-Service-Delivery`; retries reuse it, so act on an id once.")
    type = serializers.ChoiceField(choices=EventType.choices)
    created_at = serializers.DateTimeField()
    agent = EventAgentSerializer()
    data = serializers.DictField()  # type: ignore[assignment]  # a declared field, not the serializer's property


class LoggedEventSerializer(WebhookEventSerializer):
    """What the logs of events have: all that is sent, and types that are only there."""

    type = serializers.ChoiceField(choices=[*EventType.choices, *LoggedType.choices])


HEADERS = {
    "X-Service-Event": "The event's type.",
    "X-Service-Delivery": "The event's id.",
    "X-Service-Signature": "`sha256=` and the lowercase hex HMAC-SHA256 of the raw body under the webhook's secret. "
    "For 24 hours after a rotation `X-Service-Signature-Previous` holds the same under the secret of before.",
}


def _example(kind: EventType, data: dict[str, Any]) -> dict[str, Any]:
    status, moment = data.get("to", "running"), "2026-11-21T06:30:00.123456Z"
    agent = {"id": "agt_5f0c9d2e7a41b3886d20c4f1", "status": status, "name": "Ada", "engine": "pi", "tier": "small"}
    agent["endpointUrl"] = "https://ada-x7k2p9.pods.example.net"
    event_id = "evt_0b6f2d9c41e7a35880d6c2f10b6f2d9c"
    return {"id": event_id, "type": kind.value, "createdAt": moment, "agent": agent, "data": data}


def _webhook(kind: EventType, when: str, data: dict[str, Any]) -> OpenApiWebhook:
    return OpenApiWebhook(
        name=kind.value,
        decorator=extend_schema(
            operation_id="receive" + "".join(word.capitalize() for word in kind.value.split(".")),
            summary=when.rstrip("."),
            description=DELIVERY,
            tags=["Events"],
            request=WebhookEventSerializer,
            responses={"2XX": OpenApiResponse(description="Received.")},
            examples=[OpenApiExample("An event", value=_example(kind, data))],
        ),
    )


WEBHOOKS = [_webhook(kind, when, data) for kind, (when, data) in EVENTS.items()]


def complete(result: dict[str, Any], generator: Any, **_: Any) -> dict[str, Any]:
    """A step of generation: add what drf-spectacular leaves out of webhooks, their headers and their components."""
    result["components"] = generator.registry.build({})  # the generator built them before the webhooks
    for path in result["webhooks"].values():
        path["post"]["parameters"] = [
            {"in": "header", "name": name, "required": True, "description": text, "schema": {"type": "string"}}
            for name, text in HEADERS.items()
        ]
    return result
