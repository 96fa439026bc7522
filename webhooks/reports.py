"""How a delivery ended, for callers that wait for it (docs/spec.md: WebhookDelivery (result of the test endpoint))."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from config import dry_run, waiting
from config.errors import Unavailable
from config.shared_looks import SharedLook
from webhooks.models import Delivery, Problem, State

# Three attempts take up to 80 s if the receiver never answers; the rest is for the queue. Proxies give up after 130 s.
PATIENCE_SECONDS = 88.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    ok: bool
    status: int | None
    attempts: int
    error: str | None


@dataclass(frozen=True, slots=True)
class AwaitedDelivery:
    """A delivery whose caller has a place among the waiting calls. `leave` gives the place back."""

    event_id: str
    leave: Callable[[], None]

    async def report(self) -> DeliveryReport:
        """Wait for the outcome, on an event loop. A receiver that never answers is an outcome too.

        The delivery goes on even if the caller hangs up. Raises Unavailable if there is no outcome in time.
        """
        found = await _looks.wait(self.event_id, seconds=PATIENCE_SECONDS)
        if found is None:
            raise Unavailable(
                f"{self.event_id} is still being delivered: call again to wait for its outcome", retry_after=10
            )
        return found


# A dry run sends nothing.
UNSENT = DeliveryReport(ok=False, status=None, attempts=0, error=Problem.CANCELED)


def awaited(send: Callable[[], str], *, account: str) -> AwaitedDelivery | DeliveryReport:
    """The delivery whose id `send` returns, with a place among the account's waiting calls. A dry run takes no place
    and waits for nothing.

    Raises what `send` raises, and Unavailable when too many calls wait.
    """
    if dry_run.skips("delivery (its receiver)"):
        send()
        return UNSENT
    with waiting.turns.held(account) as leave:
        return AwaitedDelivery(send(), leave)


def _ended(event_ids: list[str]) -> dict[str, DeliveryReport]:
    """Those of these deliveries that have ended."""
    ended = Delivery.objects.filter(pk__in=event_ids).exclude(state=State.PENDING)
    return {delivery.pk: _reported(delivery) for delivery in ended}


def _reported(delivery: Delivery) -> DeliveryReport:
    return DeliveryReport(
        ok=delivery.state == State.DELIVERED,
        status=delivery.http_status,
        attempts=delivery.attempts,
        error=delivery.error or None,
    )


_looks = SharedLook(_ended, seconds=LOOK_SECONDS)
