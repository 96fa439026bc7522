from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agents.models import Agent
from config.errors import Conflict
from tests.webhooks.conftest import delivery_of, emit, hook_of
from webhooks import deliveries, hooks
from webhooks.deliveries import AttemptResult, Claim
from webhooks.models import Delivery, Problem, State

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def claim(*, attempts: int = 0, claims: int = 1) -> Claim:
    return Claim(
        event_id="evt_1",
        event_type="test",
        agent_id="agt_1",
        body="{}",
        url="https://receiver.example/",
        sealed_secret="sealed",
        sealed_previous=None,
        attempts=attempts,
        claims=claims,
        slow=False,
        token="t",
    )


def failed(problem: Problem = Problem.CONNECT) -> AttemptResult:
    return AttemptResult(status=None, problem=problem, seconds=0.25)


def judged(claim: Claim, answer: AttemptResult, *, at: datetime) -> deliveries.DeliveryOutcome:
    return deliveries.judge(claim, answer, began=NOON, at=at)


@pytest.mark.parametrize(("attempts", "wait"), [(0, 10), (1, 60)])
def test_a_retry_waits_from_the_beginning_of_the_failed_attempt(attempts: int, wait: int) -> None:
    for seconds in (0, 9.9):
        outcome = judged(claim(attempts=attempts), failed(), at=NOON + timedelta(seconds=seconds))
        assert (outcome.state, outcome.attempts) == (State.PENDING, attempts + 1)
        assert outcome.next_attempt_at == NOON + timedelta(seconds=wait)


def test_a_retry_is_never_due_before_the_attempt_ended() -> None:
    ended = NOON + timedelta(seconds=12)
    assert judged(claim(), failed(), at=ended).next_attempt_at == ended


def test_the_third_failure_is_the_last() -> None:
    outcome = judged(claim(attempts=2), failed(Problem.TIMEOUT), at=NOON)
    assert (outcome.state, outcome.attempts, outcome.summary) == (State.FAILED, 3, "error: timeout")


def test_a_status_is_told_as_a_number() -> None:
    outcome = judged(claim(attempts=2), AttemptResult(status=503, problem=None, seconds=0.1), at=NOON)
    assert (outcome.state, outcome.summary, outcome.duration_ms) == (State.FAILED, "503", 100)


def test_a_refused_address_is_tried_three_times_like_every_failure() -> None:
    outcome = judged(claim(), failed(Problem.ADDRESS_REFUSED), at=NOON)
    assert (outcome.state, outcome.attempts) == (State.PENDING, 1)
    outcome = judged(claim(attempts=2), failed(Problem.ADDRESS_REFUSED), at=NOON)
    assert (outcome.state, outcome.attempts, outcome.summary) == (State.FAILED, 3, "error: address refused")


@pytest.mark.parametrize("problem", list(Problem))
def test_only_a_time_out_sends_a_hook_to_the_slow_lane(problem: Problem) -> None:
    assert judged(claim(), failed(problem), at=NOON).slow == (problem == Problem.TIMEOUT)


def test_a_delivery_that_kills_its_drain_again_and_again_is_poison() -> None:
    assert not claim(claims=5).is_poison
    assert claim(claims=6).is_poison
    assert not claim(attempts=2, claims=7).is_poison


def test_a_claim_shows_no_secret() -> None:
    assert "sealed" not in repr(claim()).replace("sealed_", "")


# Sending again.


@pytest.fixture
def ended(agent: Agent) -> Delivery:
    hooks.install(agent, url="https://receiver.example/", now=NOON)
    event = emit(agent, now=NOON)
    Delivery.objects.update(
        state=State.FAILED, attempts=3, claims=4, http_status=500, finished_at=NOON, duration_ms=9, error="internal"
    )
    return delivery_of(event)


def test_an_ended_delivery_is_sent_again_from_its_first_attempt(ended: Delivery) -> None:
    later = NOON + timedelta(days=1)
    deliveries.resend(ended, actor="operator:usr_1", now=later)
    again = delivery_of(ended.event)
    assert (again.state, again.attempts, again.claims, again.next_attempt_at) == (State.PENDING, 0, 0, later)
    assert (again.http_status, again.error, again.finished_at, again.duration_ms) == (None, "", None, None)
    assert (again.resent_by, again.resent_at) == ("operator:usr_1", later)


def test_a_delivery_that_is_under_way_is_not_sent_twice(ended: Delivery) -> None:
    deliveries.resend(ended, actor="operator:usr_1", now=NOON)
    with pytest.raises(Conflict):
        deliveries.resend(ended, actor="operator:usr_1", now=NOON)


def test_without_a_hook_there_is_nowhere_to_send_again(ended: Delivery) -> None:
    hook_of(ended.agent).delete()
    with pytest.raises(Conflict, match="PUT"):
        deliveries.resend(ended, actor="operator:usr_1", now=NOON)
