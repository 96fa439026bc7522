"""The drain: the loop that sends deliveries. It leases due deliveries, sends them and records the outcomes, until
nothing is due soon.

One drain runs per process, and a limited number per installation. It never waits for a whole batch: a free slot is
filled at once, even if other attempts hang. A killed drain loses nothing, because its leases end by themselves.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone
from prometheus_client import Counter, Histogram

from config import log_context, tracing
from config.crypto import decrypt
from webhooks import deliveries, outbox, signing
from webhooks.deliveries import AttemptResult, Claim, DeliveryOutcome
from webhooks.models import Problem, State
from webhooks.outbox import Outbox
from webhooks.sender import TOTAL_SECONDS, Sender

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]

SLOTS = 100
SLOW_SLOTS = SLOTS // 4
MAX_DRAINS = 4  # in the whole installation

AHEAD = timedelta(seconds=15)  # a drain waits for deliveries that are due within this time
POLL_SECONDS = 0.5  # how late a drain may notice a delivery from another process
GATHER_SECONDS = 0.02  # outcomes that come this close together are written together
GRACE_SECONDS = 3.0  # time for running attempts when the process stops; `make run` kills it a second later

ATTEMPTS = Counter("agentpods_delivery_attempts", "Attempts to deliver an event, by what became of it.", ["outcome"])
DURATION = Histogram(
    "agentpods_delivery_attempt_duration_seconds",
    "How long attempts lasted.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
# The state after an attempt, as a word for it.
OUTCOMES = {State.DELIVERED: "delivered", State.PENDING: "to_be_repeated", State.FAILED: "given_up"}

_running: DeliveryLoop | None = None
_gate = threading.Lock()
stopping = threading.Event()


def drain(*, clock: Clock = timezone.now, ahead: timedelta = AHEAD) -> int:
    """Send the deliveries that are due, or get due within `ahead`. Return the number of attempts.

    With an `ahead` of zero it waits only for its own attempts, so it ends even if its clock stands still.

    Returns 0 at once if nothing is due, the process stops, or the process or the installation has its maximum of
    drains. If this process has a drain already, that drain is told to look again.
    """
    global _running  # noqa: PLW0603 # the only drain of this process
    try:
        due = outbox.soonest()
        parameters = _connection_parameters()
    finally:
        # Give the connection back to the pool: the drain does not need it while it waits for receivers, and a broken
        # connection must not be kept.
        connection.close()
    if due is None or due > clock() + ahead or stopping.is_set():
        return 0
    with _gate:
        if _running is not None:
            _running.look_again()
            return 0
        mine = _running = DeliveryLoop(clock=clock, ahead=ahead)
    try:
        return asyncio.run(mine.run(parameters))
    finally:
        with _gate:
            _running = None


def _connection_parameters() -> dict[str, Any]:
    """Django's connection parameters, without those for its own cursors."""
    parameters = connection.get_connection_params()
    return {name: value for name, value in parameters.items() if name not in {"cursor_factory", "context"}}


class DeliveryLoop:
    def __init__(self, *, clock: Clock, ahead: timedelta) -> None:
        self.clock = clock
        self.ahead = ahead
        self.sent = 0
        self._in_flight: dict[asyncio.Task[DeliveryOutcome], Claim] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken = asyncio.Event()

    def look_again(self) -> None:
        """Called from other threads when something new is due."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has just ended and need not look
                self._loop.call_soon_threadsafe(self._woken.set)

    async def run(self, parameters: dict[str, Any]) -> int:
        self._loop = asyncio.get_running_loop()
        box = await Outbox.open(parameters)
        try:
            if await box.take_slot(MAX_DRAINS):
                async with Sender(lookups=SLOTS, seconds=TOTAL_SECONDS) as sender:
                    await self._work(box, sender)
                    await self._wind_down(box)
        finally:
            self._loop = None
            await box.close()
        return self.sent

    async def _work(self, box: Outbox, sender: Sender) -> None:
        while not stopping.is_set():
            await self._fill(box, sender)
            seconds = await self._idle_seconds(box)
            if seconds is None:
                return
            await self._wait(seconds)
            await self._record_ended(box)

    async def _fill(self, box: Outbox, sender: Sender) -> None:
        """Start an attempt in each free slot."""
        self._woken.clear()
        free = SLOTS - len(self._in_flight)
        slow = SLOW_SLOTS - sum(claim.slow for claim in self._in_flight.values())
        if free == 0:
            return
        claims = await box.claim(slots=free, slow_slots=max(slow, 0), now=self.clock())
        poisoned = [claim for claim in claims if claim.is_poison]
        if poisoned:
            log.error(
                "deliveries given up, because each of them stopped the sender several times: %s",
                ", ".join(claim.event_id for claim in poisoned),
            )
            await box.record([deliveries.give_up(claim, at=self.clock()) for claim in poisoned])
        for claim in claims:
            if not claim.is_poison:
                self._in_flight[asyncio.create_task(self._attempt(sender, claim))] = claim

    async def _attempt(self, sender: Sender, claim: Claim) -> DeliveryOutcome:
        """Make one attempt. Never raises: one delivery that cannot be sent must not end the whole drain."""
        with log_context.about(agentId=claim.agent_id):  # each attempt is an asyncio task with a context of its own
            return await self._attempted(sender, claim)

    async def _attempted(self, sender: Sender, claim: Claim) -> DeliveryOutcome:
        began = self.clock()
        try:
            answer = await _traced(sender, claim)
        except Exception:
            log.exception("%s of %s could not be sent", claim.event_id, claim.agent_id)
            answer = AttemptResult(None, Problem.INTERNAL, 0.0)
        self.sent += 1
        outcome = deliveries.judge(claim, answer, began=began, at=self.clock())
        ATTEMPTS.labels(OUTCOMES[outcome.state]).inc()
        DURATION.observe(answer.seconds)
        level = logging.INFO if outcome.state == State.DELIVERED else logging.WARNING
        told = "%s of %s: attempt %d at its receiver, %s"
        log.log(level, told, claim.event_id, claim.agent_id, outcome.attempts, outcome.summary)
        return outcome

    async def _idle_seconds(self, box: Outbox) -> float | None:
        """Seconds to wait for something new; None if there is nothing to wait for."""
        if len(self._in_flight) >= SLOTS:
            return POLL_SECONDS  # only the end of an attempt frees a slot
        soonest = await box.soonest()
        now = self.clock()
        if soonest is None or soonest > now + self.ahead:
            return POLL_SECONDS if self._in_flight else None
        if not self.ahead and not self._in_flight:
            return None  # due, but another drain holds the delivery or its agent
        # A delivery that is due but was not claimed waits for the end of another one.
        return min(POLL_SECONDS, (soonest - now).total_seconds()) if soonest > now else POLL_SECONDS

    async def _wait(self, seconds: float) -> None:
        """Wait until an attempt ends, a new event is due, or the time is over.

        After an attempt has ended, wait a moment more for others that end just then.
        """
        woken = asyncio.create_task(self._woken.wait())
        await asyncio.wait([woken, *self._in_flight], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()
        if any(task.done() for task in self._in_flight):
            await asyncio.sleep(GATHER_SECONDS)

    async def _record_ended(self, box: Outbox) -> None:
        ended = [task for task in self._in_flight if task.done()]
        if ended:
            await box.record([task.result() for task in ended])
        for task in ended:
            del self._in_flight[task]

    async def _wind_down(self, box: Outbox) -> None:
        """The process stops: wait for running attempts, write their outcomes, and give the other leases back."""
        if not self._in_flight:
            return
        await asyncio.wait(self._in_flight, timeout=GRACE_SECONDS)
        await self._record_ended(box)
        for task in self._in_flight:
            task.cancel()
        await box.give_back(self._in_flight.values())


async def _traced(sender: Sender, claim: Claim) -> AttemptResult:
    """Send it, as a trace of its own: a drain may last for hours. The receiver gets no header of the trace."""
    about: dict[str, str | int] = {"agentpods.event_type": claim.event_type, "agentpods.attempt": claim.attempts + 1}
    with tracing.trace("delivery", **about) as span:
        answer = await _send(sender, claim)
        if span and answer.status is not None:
            span.note(http__response__status_code=answer.status)
        if span and answer.problem is not None:
            span.fail(answer.problem)
    return answer


async def _send(sender: Sender, claim: Claim) -> AttemptResult:
    """Sign the stored bytes with the current secrets and post them."""
    body = claim.body.encode()
    headers = signing.headers(
        event_id=claim.event_id,
        event_type=claim.event_type,
        body=body,
        secret=decrypt(claim.sealed_secret),
        previous_secret=decrypt(claim.sealed_previous) if claim.sealed_previous else None,
    )
    return await sender.post(claim.url, headers=headers, body=body)
