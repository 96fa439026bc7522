"""How a delivery ended, for callers that wait for it (docs/spec.md: WebhookDelivery (result of the test endpoint))."""

from __future__ import annotations

import time
from dataclasses import dataclass

from config import callers, waiting
from config.errors import Unavailable
from webhooks.models import Delivery, State

# Three attempts take up to 80 s if the receiver never answers; the rest is for the queue. Proxies give up after 130 s.
PATIENCE_SECONDS = 88.0
POLL_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.6)


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    ok: bool
    status: int | None
    attempts: int
    error: str | None


def wait_for(event_id: str) -> DeliveryReport:
    """Wait for the outcome of a delivery. A receiver that never answers is an outcome too.

    The delivery goes on even if the caller hangs up. Raises Unavailable if there is no outcome in time, or if the
    caller has left.
    """
    patient_until = time.monotonic() + PATIENCE_SECONDS
    looks = 0
    caller = callers.caller.get()
    while time.monotonic() < patient_until and not (caller and caller.has_left):
        delivery = Delivery.objects.get(pk=event_id)
        waiting.release_connection()
        if delivery.state != State.PENDING:
            ok, error = delivery.state == State.DELIVERED, delivery.error or None
            return DeliveryReport(ok=ok, status=delivery.http_status, attempts=delivery.attempts, error=error)
        time.sleep(POLL_SECONDS[min(looks, len(POLL_SECONDS) - 1)])
        looks += 1
    raise Unavailable(f"{event_id} is still being delivered: call again to wait for its outcome", retry_after=10)
