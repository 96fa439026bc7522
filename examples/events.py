"""Checks of the events that the demo's receiver gets."""

from __future__ import annotations

from typing import Any

from examples.checks import expect
from examples.webhook_receiver import WebhookReceiver

EVENT_SECONDS = 60


def came(receiver: WebhookReceiver, kind: str, data: dict[str, Any], *, skip: int = 0) -> None:
    """Wait for the event of this type after the first `skip` events, and check its data."""
    event = receiver.wait_for(kind, seconds=EVENT_SECONDS, skip=skip).event
    got = {name: event["data"].get(name) for name in data}
    expect(got == data, f"{kind}: data is {event['data']} instead of {data}")


def all_genuine(receiver: WebhookReceiver, *, agent_id: str, counts: dict[str, int]) -> None:
    """Check that each event is signed, has its headers and concerns this agent, and that none is missing."""
    for received in receiver.received:
        expect(received.verified, f"not signed with the secret: {received.body!r}")
        event, headers = received.event, received.headers
        expect(set(event) == {"id", "type", "createdAt", "agent", "data"}, f"other fields: {event}")
        expect(headers["X-Service-Delivery"] == event["id"], f"another delivery id: {headers}")
        expect(headers["X-Service-Event"] == event["type"], f"another type: {headers}")
        expect(headers["User-Agent"] == "Service-Webhooks/1.0", f"another user agent: {headers}")
        expect(event["agent"]["id"] == agent_id, f"another agent: {event}")
    found = {kind: len(receiver.of_type(kind)) for kind in counts}
    expect(found == counts, f"other events: {found} instead of {counts}")
