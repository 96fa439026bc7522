"""What an attempt means for its delivery: done, tried again, or given up (docs/spec.md: Delivery rules)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import QuerySet

from config import background, states
from config.errors import Conflict
from webhooks.models import Delivery, Hook, Problem, State

if TYPE_CHECKING:
    from agents.models import Agent

TRANSITIONS: dict[State, set[State]] = {
    State.PENDING: {State.PENDING, State.DELIVERED, State.FAILED, State.CANCELED},
    State.DELIVERED: {State.PENDING},
    State.FAILED: {State.PENDING},
    State.CANCELED: {State.PENDING},
}

# Counted from the start of the failed attempt, so that three attempts end within 80 s even if each takes its whole 10
# s.
RETRY_DELAYS = (timedelta(seconds=10), timedelta(seconds=60))
MAX_ATTEMPTS = len(RETRY_DELAYS) + 1

# If a delivery was claimed this many times more than it got outcomes, it crashes the process that sends it: give it up.
SPARE_CLAIMS = 5


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of one attempt: an HTTP status, or the reason why there is none."""

    status: int | None
    problem: Problem | None
    seconds: float

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A delivery that one drain (the loop that sends) has leased, with everything needed to send it."""

    event_id: str
    event_type: str
    agent_id: str
    body: str
    url: str
    sealed_secret: str = field(repr=False)
    sealed_previous: str | None = field(repr=False)
    attempts: int
    claims: int
    slow: bool
    token: str

    @property
    def is_poison(self) -> bool:
        return self.claims > self.attempts + SPARE_CLAIMS


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOutcome:
    """The new values for a claimed delivery, and the URL of the receiver."""

    event_id: str
    token: str
    url: str
    state: State
    attempts: int
    next_attempt_at: datetime
    http_status: int | None
    error: str
    duration_ms: int
    ended_at: datetime
    slow: bool

    @property
    def summary(self) -> str:
        """The text for the agent's `webhookLastStatus`."""
        return str(self.http_status) if self.http_status is not None else f"error: {self.error}"


def judge(claim: Claim, answer: AttemptResult, *, began: datetime, at: datetime) -> DeliveryOutcome:
    """The outcome of an attempt that started at `began` and ended at `at`."""
    attempts = claim.attempts + 1
    state = _state(attempts, answer)
    return DeliveryOutcome(
        event_id=claim.event_id,
        token=claim.token,
        url=claim.url,
        state=state,
        attempts=attempts,
        next_attempt_at=max(at, began + RETRY_DELAYS[attempts - 1]) if state == State.PENDING else at,
        http_status=answer.status,
        error=answer.problem or "",
        duration_ms=round(answer.seconds * 1000),
        ended_at=at,
        slow=answer.problem == Problem.TIMEOUT,
    )


def give_up(claim: Claim, *, at: datetime) -> DeliveryOutcome:
    """The outcome of a delivery that is never sent again, because it ended the drain each time."""
    failed = judge(claim, AttemptResult(None, Problem.INTERNAL, 0.0), began=at, at=at)
    return replace(failed, state=State.FAILED, attempts=claim.attempts, next_attempt_at=at, slow=claim.slow)


def _state(attempts: int, answer: AttemptResult) -> State:
    if answer.ok:
        return State.DELIVERED
    return State.FAILED if attempts >= MAX_ATTEMPTS else State.PENDING


@transaction.atomic
def resend(delivery: Delivery, *, actor: str, now: datetime) -> Delivery:
    """Send an ended delivery again, with the same id and bytes, to the hook that the agent has now. Raises Conflict."""
    delivery = _with_hook(delivery)
    if delivery.state == State.PENDING:
        raise Conflict(f"{delivery.pk} is still being delivered")
    anew = {"attempts": 0, "claims": 0, "next_attempt_at": now, "resent_by": actor, "resent_at": now}
    no_answer = {"finished_at": None, "http_status": None, "duration_ms": None, "error": ""}
    _move(Delivery.objects.filter(pk=delivery.pk), State.PENDING, **anew, **no_answer)
    background.on_commit("webhooks.drain")
    return Delivery.objects.get(pk=delivery.pk)


@transaction.atomic
def resend_or_join(delivery: Delivery, *, actor: str, now: datetime) -> Delivery:
    """As `resend`, but succeeds without a change if the delivery is already being sent again."""
    delivery = _with_hook(delivery)
    if delivery.state == State.PENDING and delivery.resent_at is not None:
        return delivery
    return resend(delivery, actor=actor, now=now)


def _with_hook(delivery: Delivery) -> Delivery:
    """Lock the hook, then the delivery, and return the delivery as it is now. Raises Conflict if there is no hook."""
    hook = Hook.objects.select_for_update(no_key=True).filter(agent_id=delivery.agent_id).first()
    if hook is None:
        raise Conflict("the agent has no webhook: PUT /agents/{id}/webhook sets one")
    return Delivery.objects.select_for_update().get(pk=delivery.pk)


def cancel_pending(agent: Agent, *, now: datetime) -> int:
    """Cancel pending deliveries. An attempt that is under way is not stopped, but its outcome is dropped."""
    ended = {"error": Problem.CANCELED, "lease_until": None, "lease_token": "", "finished_at": now}
    return _move(Delivery.objects.filter(agent=agent), State.CANCELED, **ended)


def _move(rows: QuerySet[Delivery], to: State, **values: Any) -> int:
    """Assign the state, together with these values, where the present state leads there. Returns how many moved.

    Only this function assigns a state, and `record` of webhooks/outbox.py, which takes many pending deliveries to
    several states in one statement.
    """
    return rows.filter(state__in=states.before(TRANSITIONS, to)).update(state=to, **values)
