"""The `test` event: sent with all retries, and waited for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from config import waiting
from config.errors import Conflict, Unavailable
from webhooks import events
from webhooks.models import Delivery, EventType, Hook, State

if TYPE_CHECKING:
    from agents.models import Agent

# Three attempts of 10 s with 70 s between them, and a little for the queue; proxies give up after 130 s.
PATIENCE_SECONDS = 115.0
POLL_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.6)

NOTE = "A test event, sent on request. Nothing has happened to the agent."


@dataclass(frozen=True, slots=True)
class Report:
    """How a delivery ended (spec: WebhookDelivery)."""

    ok: bool
    status: int | None
    attempts: int
    error: str | None


def run(agent: Agent) -> Report:
    """Send a `test` event and wait for its outcome; a test that is running already is waited for instead.

    The receiver's silence is an outcome, not an error. The delivery goes on if the caller hangs up.
    """
    with waiting.place():
        return _wait(start(agent, now=timezone.now()))


@transaction.atomic
def start(agent: Agent, *, now: datetime) -> str:
    """The id of the agent's running test, begun now if there is none."""
    hook = Hook.objects.select_for_update(no_key=True).filter(agent=agent).first()
    if hook is None:
        raise Conflict("the agent has no webhook to test: PUT /agents/{id}/webhook sets one")
    running = Delivery.objects.pending().filter(agent=agent, is_test=True).first()
    return running.pk if running else events.emit(agent, EventType.TEST, {"note": NOTE}, now=now).pk


def _wait(event_id: str) -> Report:
    patient_until = time.monotonic() + PATIENCE_SECONDS
    looks = 0
    while time.monotonic() < patient_until:
        delivery = Delivery.objects.get(pk=event_id)
        waiting.release_connection()
        if delivery.state != State.PENDING:
            return _report(delivery)
        time.sleep(POLL_SECONDS[min(looks, len(POLL_SECONDS) - 1)])
        looks += 1
    raise Unavailable("the test is still being delivered: call again to wait for its outcome", retry_after=10)


def _report(delivery: Delivery) -> Report:
    return Report(
        ok=delivery.state == State.DELIVERED,
        status=delivery.http_status,
        attempts=delivery.attempts,
        error=delivery.error or None,
    )
