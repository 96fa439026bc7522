"""Real workers, a real clock, and `kill -9`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from tests.doubles.receiver import Receiver, after, hang, raw, status
from tests.patience import Patience
from tests.webhooks.conftest import MakeAgent, emit, hook_of, outcome_of_test
from tests.workers import Workers
from webhooks.models import Delivery, State
from webhooks.reports import DeliveryReport

pytestmark = pytest.mark.slow

ALLOWED = {"WEBHOOK_ALLOWED_CIDRS": "127.0.0.0/8"}
SLACK_SECONDS = 2.5


def test_three_attempts_begin_ten_and_sixty_seconds_after_the_one_before(
    celery: Workers, loopback: None, make_agent: MakeAgent
) -> None:
    refusing, hanging = Receiver([status(500)]), Receiver([hang])
    celery.start("webhooks", environment=ALLOWED)
    celery.beat()
    with refusing.listening(), hanging.listening():
        agents = [make_agent(refusing.url), make_agent(hanging.url)]
        for agent in agents:
            emit(agent)
        wait_until(lambda: not Delivery.objects.pending().exists(), seconds=130)
    assert spacing(refusing) == pytest.approx([10, 70], abs=SLACK_SECONDS)
    assert spacing(hanging) == pytest.approx([10, 70], abs=SLACK_SECONDS)
    for receiver in (refusing, hanging):
        assert len({(request.body, request.header("X-Service-Delivery")) for request in receiver.received}) == 1
    assert [hook_of(agent).last_status for agent in agents] == ["500", "error: timeout"]


@pytest.mark.parametrize("rude", [hang, raw(b"HTTP/1.1 200 OK\r\n", *[b"X"] * 60, pause=1)], ids=["hangs", "drips"])
def test_a_test_of_a_receiver_that_never_answers_ends_within_ninety_seconds(
    celery: Workers, loopback: None, make_agent: MakeAgent, rude: Any
) -> None:
    """Also while an event of the agent waits for the same receiver."""
    celery.start("webhooks", environment=ALLOWED)
    celery.beat()
    with Receiver([rude]).listening() as receiver:
        agent = make_agent(receiver.url)
        emit(agent)
        wait_until(lambda: bool(receiver.received), seconds=20)
        began = time.monotonic()
        report = outcome_of_test(agent)
    assert report == DeliveryReport(ok=False, status=None, attempts=3, error="timeout")
    assert 75 < time.monotonic() - began < 90


def test_an_event_arrives_within_a_second_of_its_commit(
    celery: Workers, receiver: Receiver, make_agent: MakeAgent
) -> None:
    celery.start("webhooks", environment=ALLOWED)
    delays = []
    for _ in range(5):
        agent = make_agent(receiver.url)
        emit(agent)
        committed = time.monotonic()
        wait_until(lambda agent=agent: hook_of(agent).last_status == "204", seconds=10)  # type: ignore[misc]
        delays.append(receiver.received[-1].at - committed)
    assert sorted(delays)[2] < 1


def test_a_worker_killed_in_mid_flight_loses_nothing_and_repeats_only_what_was_in_flight(
    celery: Workers, receiver: Receiver, make_agent: MakeAgent
) -> None:
    with Receiver([after(0.3, status(204))]).listening() as second:
        receiver.answers(after(0.3, status(204)))
        agents = [make_agent(url) for url in (receiver.url, second.url) for _ in range(10)]
        events = {emit(agent).pk for agent in agents for _ in range(3)}
        worker = celery.start("webhooks", environment=ALLOWED)
        wait_until(lambda: len(receiver.received) > 12, seconds=20)
        worker.kill()
        in_flight = set(Delivery.objects.exclude(lease_until=None).values_list("pk", flat=True))
        celery.start("webhooks", environment=ALLOWED)
        celery.beat()
        wait_until(lambda: not Delivery.objects.pending().exists(), seconds=90)
        got = Counter(request.header("X-Service-Delivery") for one in (receiver, second) for request in one.received)
    assert got.keys() == events
    assert {event for event, times in got.items() if times > 1} <= in_flight
    assert max(got.values()) <= 2
    assert set(Delivery.objects.values_list("state", "attempts")) == {(State.DELIVERED, 1)}


def test_no_receiver_is_waited_for_longer_than_ten_seconds_whatever_it_does(
    celery: Workers, loopback: None, make_agent: MakeAgent
) -> None:
    megabyte = b"x" * 2**20
    rude = {
        "answers after 10.5 s": after(10.5, status(204)),
        "drips": raw(b"HTTP/1.1 200 OK\r\n", *[b"X-Drip: 1\r\n"] * 60, pause=1),
        "100 Continue": raw(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.01, repeat=True),
        "1 MB of headers": raw(b"HTTP/1.1 200 OK\r\nX-Long: " + megabyte + b"\r\n\r\n"),
        "100 MB": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n", *[megabyte] * 100),
    }
    celery.start("webhooks", environment=ALLOWED)
    with ExitStack() as stack:
        receivers = {name: stack.enter_context(Receiver([answer]).listening()) for name, answer in rude.items()}
        events = {name: emit(make_agent(receiver.url)).pk for name, receiver in receivers.items()}
        wait_until(lambda: not Delivery.objects.filter(attempts=0).exists(), seconds=60)
        first = {name: Delivery.objects.get(pk=event) for name, event in events.items()}
    assert {name: one.error or one.http_status for name, one in first.items()} == {
        "answers after 10.5 s": "timeout",
        "drips": "timeout",
        "100 Continue": "timeout",
        "1 MB of headers": "protocol",
        "100 MB": 200,
    }
    hung = [one.duration_ms for one in first.values() if one.error == "timeout"]
    assert hung == pytest.approx([10_000] * 3, abs=SLACK_SECONDS * 1000)


def spacing(receiver: Receiver) -> list[float]:
    """Seconds from the first attempt to each later attempt."""
    first, *others = (request.at for request in receiver.received)
    return [at - first for at in others]


def wait_until(happened: Callable[[], bool], *, seconds: float) -> None:
    patience = Patience(seconds)
    while not happened():
        assert not patience.ended(), "it did not happen in time"
        time.sleep(0.1)
