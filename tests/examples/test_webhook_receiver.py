from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator

import pytest
import requests

from examples.webhook_receiver import WebhookReceiver

SECRET = "whsec_example"


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    receiver = WebhookReceiver()
    receiver.secret = SECRET
    yield receiver
    receiver.shutdown()
    receiver.server_close()


def send(receiver: WebhookReceiver, event_id: str, *, secret: str = SECRET) -> int:
    body = json.dumps({"id": event_id, "type": "test"}).encode()
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Service-Delivery": event_id, "X-Service-Signature": signature}
    return requests.post(receiver.url, data=body, headers=headers, timeout=5).status_code


def test_a_genuine_event_is_taken(receiver: WebhookReceiver) -> None:
    assert send(receiver, "evt_1") == 204
    assert receiver.wait_for("test", seconds=1).event["id"] == "evt_1"


def test_a_forged_event_is_refused(receiver: WebhookReceiver) -> None:
    assert send(receiver, "evt_1", secret="another") == 401
    assert receiver.of_type("test") == []


def test_a_retry_counts_once(receiver: WebhookReceiver) -> None:
    for event_id in ("evt_1", "evt_2", "evt_1"):
        send(receiver, event_id)
    assert [one.event["id"] for one in receiver.of_type("test")] == ["evt_1", "evt_2"]


def test_waiting_for_what_does_not_come_ends(receiver: WebhookReceiver) -> None:
    with pytest.raises(TimeoutError, match="no test event"):
        receiver.wait_for("test", seconds=0.05)
