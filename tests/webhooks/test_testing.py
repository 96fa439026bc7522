from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from agents.models import Agent
from config.errors import Conflict, Unavailable
from tests.doubles.receiver import Receiver, after, status
from tests.webhooks.conftest import emit, outcome_of_test
from webhooks import delivery_loop, hooks, reports, testing
from webhooks.models import Delivery, Event, State
from webhooks.reports import DeliveryReport

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def draining_worker() -> Iterator[None]:
    """Drain in a thread as a worker does, until the test ends."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.05):
            delivery_loop.drain(ahead=timedelta(0))

    thread = threading.Thread(target=work)
    thread.start()
    yield
    ended.set()
    thread.join()


def test_it_reports_what_the_receiver_answered(hooked: Agent, receiver: Receiver, draining_worker: None) -> None:
    assert outcome_of_test(hooked) == DeliveryReport(ok=True, status=204, attempts=1, error=None)
    (request,) = receiver.received
    assert request.header("X-Service-Event") == "test"
    assert b'"data":{"note":' in request.body


def test_a_second_call_joins_the_running_test(hooked: Agent, receiver: Receiver, draining_worker: None) -> None:
    receiver.answers(after(0.5, status(204)))
    reports: list[DeliveryReport] = []
    callers = [threading.Thread(target=lambda: reports.append(outcome_of_test(hooked))) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert reports == [DeliveryReport(ok=True, status=204, attempts=1, error=None)] * 4
    assert Event.objects.count() == len(receiver.received) == 1


def test_an_ordinary_event_that_waits_is_not_mistaken_for_a_test(hooked: Agent) -> None:
    event = emit(hooked)
    assert testing.start(hooked, now=timezone.now()) != event.pk


def test_removing_the_hook_ends_the_wait(hooked: Agent) -> None:
    reports: list[DeliveryReport] = []
    caller = threading.Thread(target=lambda: reports.append(outcome_of_test(hooked)))
    caller.start()
    while not Delivery.objects.exists():
        caller.join(0.01)
    hooks.remove(hooked)
    caller.join()
    assert reports == [DeliveryReport(ok=False, status=None, attempts=0, error="canceled")]


def test_without_a_hook_there_is_nothing_to_test(agent: Agent) -> None:
    with pytest.raises(Conflict, match=r"PUT /agents/\{id\}/webhook"):
        outcome_of_test(agent)


def test_a_wait_without_end_is_given_up_and_can_be_joined(hooked: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(Unavailable) as gave_up:
        outcome_of_test(hooked)
    assert "Retry-After" in gave_up.value.headers
    assert Delivery.objects.get().state == State.PENDING
    assert reports.PATIENCE_SECONDS < 130


def test_the_real_patience_outlasts_a_hanging_receiver_and_ends_within_ninety_seconds() -> None:
    assert 80 + 5 < reports.PATIENCE_SECONDS < 90
