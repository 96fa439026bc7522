"""Deliveries from the row to a real receiver. The clock is the test's; only the sending is real."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from agents.models import Agent, Status
from tests.doubles.receiver import Receiver, after, held, status
from tests.patience import wait_until
from tests.webhooks.conftest import HookClock, MakeAgent, delivery_of, emit, hook_of
from tests.workers import database_url
from webhooks import delivery_loop, outbox, signing
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event, Hook, State

Deliver = Callable[[], int]


def test_an_event_reaches_the_receiver_with_the_headers_and_the_body_of_the_spec(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    event = emit(hooked, now=clock.now)
    deliver()
    (request,) = receiver.received
    assert request.path == "/hook"
    assert dict(request.headers) == {
        "Host": f"127.0.0.1:{receiver.port}",
        "Content-Type": "application/json",
        "Content-Length": str(len(request.body)),
        "User-Agent": "Service-Webhooks/1.0",
        "Connection": "close",
        "X-Service-Event": "agent.running",
        "X-Service-Delivery": event.pk,
        "X-Service-Signature": signing.signature(request.body, hook_of(hooked).secret),
    }
    assert request.body == event.body.encode()
    assert json.loads(request.body)["id"] == event.pk


def test_a_success_is_written_on_the_hook_and_the_event_is_sent_no_more(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    event = emit(hooked, now=clock.now)
    assert deliver() == 1
    clock.forward(3600)
    assert deliver() == 0
    hook = hook_of(hooked)
    assert (hook.last_status, hook.last_event) == ("204", "agent.running")
    assert hook.last_at == delivery_of(event).finished_at
    assert delivery_of(event).state == State.DELIVERED
    assert len(receiver.received) == 1


def test_three_attempts_ten_and_sixty_seconds_apart_with_the_same_id_and_bytes(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(status(500), status(404), status(302))
    event = emit(hooked, now=clock.now)
    sent = [deliver(), deliver()]
    clock.forward(9.9)
    sent += [deliver()]
    clock.forward(0.1)
    sent += [deliver()]
    clock.forward(59.9)
    sent += [deliver()]
    clock.forward(0.1)
    sent += [deliver()]
    clock.forward(3600)
    sent += [deliver()]
    assert sent == [1, 0, 0, 1, 0, 1, 0]
    assert {request.body for request in receiver.received} == {event.body.encode()}
    assert {request.header("X-Service-Delivery") for request in receiver.received} == {event.pk}
    assert len({request.header("X-Service-Signature") for request in receiver.received}) == 1


def test_the_outcome_is_written_only_after_the_last_attempt(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(status(500))
    event = emit(hooked, now=clock.now)
    seen = []
    for wait in (10, 60, 0):
        deliver()
        seen.append(hook_of(hooked).last_status)
        clock.forward(wait)
    assert seen == [None, None, "500"]
    assert hook_of(hooked).last_at == clock.now
    assert (delivery_of(event).state, delivery_of(event).attempts) == (State.FAILED, 3)


def test_a_receiver_that_recovers_gets_the_event(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(status(503), status(200))
    event = emit(hooked, now=clock.now)
    deliver()
    clock.forward(10)
    deliver()
    assert (delivery_of(event).state, delivery_of(event).attempts) == (State.DELIVERED, 2)
    assert hook_of(hooked).last_status == "200"


def test_a_receiver_that_is_not_there_is_told_as_an_error_word(
    loopback: None, make_agent: MakeAgent, deliver: Deliver, clock: HookClock
) -> None:
    with Receiver().listening() as gone:
        agent = make_agent(gone.url)
    emit(agent, now=clock.now)
    for wait in (10, 60, 0):
        deliver()
        clock.forward(wait)
    assert hook_of(agent).last_status == "error: connect"


def test_an_address_that_became_private_is_refused_at_each_attempt_without_a_packet(
    receiver: Receiver, make_agent: MakeAgent, deliver: Deliver, clock: HookClock, settings: object
) -> None:
    agent = make_agent(receiver.url)
    settings.WEBHOOK_ALLOWED_CIDRS = []  # type: ignore[attr-defined]  # pytest-django's settings take any name
    event = emit(agent, now=clock.now)
    for wait in (10, 60, 0):
        assert deliver() == 1
        clock.forward(wait)
    assert (delivery_of(event).state, hook_of(agent).last_status) == (State.FAILED, "error: address refused")
    assert receiver.connections == 0


def test_a_delivery_that_waits_for_its_retry_blocks_nothing_of_its_agent(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(status(500), status(204))
    emit(hooked, now=clock.now)
    deliver()
    later = emit(hooked, EventType.AGENT_STOPPED, now=clock.now)
    deliver()
    assert delivery_of(later).state == State.DELIVERED


def test_an_agent_that_was_deleted_still_tells_its_receiver(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    hooked.status = Status.DELETED
    hooked.save()
    emit(hooked, EventType.AGENT_DELETED, now=clock.now)
    deliver()
    assert receiver.received[0].header("X-Service-Event") == "agent.deleted"


def test_many_events_of_one_agent_go_one_after_the_other(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(after(0.02, status(204)))
    for _ in range(10):
        emit(hooked, now=clock.now)
    assert deliver() == 10
    assert receiver.peak == 1


def test_at_most_eight_go_to_one_receiver_at_a_time(
    make_agent: MakeAgent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(after(0.1, status(204)))
    for _ in range(20):
        emit(make_agent(receiver.url), now=clock.now)
    assert deliver() == 20
    assert receiver.peak == 8


def test_a_secret_that_cannot_be_read_ends_its_own_delivery_and_no_other(
    make_agent: MakeAgent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    broken, whole = make_agent(receiver.url), make_agent(receiver.url)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE webhooks_hook SET secret = 'x' WHERE agent_id = %s", [broken.pk])
    emit(broken, now=clock.now)
    emit(whole, now=clock.now)
    for wait in (10, 60, 0):
        deliver()
        clock.forward(wait)
    statuses = dict(Hook.objects.values_list("agent_id", "last_status"))
    assert statuses == {broken.pk: "error: internal", whole.pk: "204"}


# How long a drain lives, and how many drains there are.


def test_a_drain_waits_for_what_is_due_within_its_horizon(
    hooked: Agent, receiver: Receiver, transactional_db: None
) -> None:
    horizon = timedelta(seconds=60)
    emit(hooked, now=timezone.now() + timedelta(seconds=0.8))
    started = time.monotonic()
    assert delivery_loop.drain(ahead=horizon) == 1
    assert 0.7 < time.monotonic() - started < horizon.total_seconds()


def test_a_tick_with_nothing_due_costs_one_look(
    hooked: Agent, transactional_db: None, django_assert_num_queries: Callable[..., object]
) -> None:
    emit(hooked, now=timezone.now() + timedelta(minutes=1))
    with django_assert_num_queries(1):  # type: ignore[attr-defined]  # a context manager of pytest-django
        assert delivery_loop.drain() == 0


def test_what_is_emitted_while_a_drain_runs_is_sent_by_it_at_once(
    hooked: Agent, make_agent: MakeAgent, receiver: Receiver, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_loop, "POLL_SECONDS", 30)
    release = threading.Event()
    receiver.answers(held(release, then=status(204)), status(204))
    second = make_agent(receiver.url)
    emit(hooked)
    running = threading.Thread(target=delivery_loop.drain)
    running.start()
    wait_until(lambda: len(receiver.received) == 1)
    emit(second)
    assert delivery_loop.drain() == 0  # the task of a tick: it notifies the running drain and ends
    wait_until(lambda: len(receiver.received) == 2)  # while the first request still hangs
    release.set()
    running.join()


def test_a_tick_without_a_free_slot_ends_at_once(hooked: Agent, receiver: Receiver, deliver: Deliver) -> None:
    emit(hooked)
    with psycopg.connect(database_url(), autocommit=True) as elsewhere:
        for slot in range(1, delivery_loop.MAX_DRAINS + 1):
            elsewhere.execute("SELECT pg_advisory_lock(%s, %s)", [outbox._LOCKS, slot])
        assert deliver() == 0
    assert receiver.received == []


def test_while_receivers_are_waited_for_no_connection_of_the_pool_is_held(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    release = threading.Event()
    receiver.answers(held(release, then=status(204)))
    emit(hooked, now=clock.now)
    connection.close()
    before = _held_of_the_pool()
    thread = threading.Thread(target=deliver)
    thread.start()
    wait_until(lambda: bool(receiver.received))
    wait_until(lambda: _held_of_the_pool() <= before)  # while the receiver has not answered yet
    release.set()
    thread.join()


def test_a_drain_that_loses_its_database_leaves_the_attempt_to_the_next(
    hooked: Agent, receiver: Receiver, transactional_db: None, clock: HookClock, deliver: Deliver
) -> None:
    receiver.answers(after(0.4, status(204)))
    event = emit(hooked, now=clock.now)
    lost: list[BaseException] = []

    def drain() -> None:
        with pytest.raises(psycopg.OperationalError) as failure:
            deliver()
        lost.append(failure.value)

    running = threading.Thread(target=drain)
    running.start()
    wait_until(lambda: bool(receiver.received))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
            " WHERE l.locktype = 'advisory' AND d.datname = current_database()"
        )
    running.join()
    assert len(lost) == 1
    assert (delivery_of(event).state, delivery_of(event).attempts) == (State.PENDING, 0)
    clock.forward(31)
    assert deliver() == 1
    assert (delivery_of(event).state, delivery_of(event).attempts) == (State.DELIVERED, 1)
    assert len({request.header("X-Service-Delivery") for request in receiver.received}) == 1


@pytest.fixture
def stopped() -> Iterator[threading.Event]:
    yield delivery_loop.stopping
    delivery_loop.stopping.clear()


def test_a_stopped_process_begins_nothing_and_hands_back_what_hangs(
    hooked: Agent, receiver: Receiver, stopped: threading.Event, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_loop, "GRACE_SECONDS", 0.3)
    receiver.answers(after(5, status(204)))
    event = emit(hooked)
    running = threading.Thread(target=delivery_loop.drain)
    running.start()
    wait_until(lambda: bool(receiver.received))
    stopped.set()
    running.join(4)
    assert not running.is_alive()
    delivery = delivery_of(event)
    assert (delivery.state, delivery.lease_until, delivery.claims, delivery.attempts) == (State.PENDING, None, 0, 0)
    assert delivery_loop.drain() == 0


def test_a_stopped_process_still_writes_what_ends_in_time(
    hooked: Agent, receiver: Receiver, stopped: threading.Event, transactional_db: None
) -> None:
    receiver.answers(after(0.6, status(204)))
    event = emit(hooked)
    running = threading.Thread(target=delivery_loop.drain)
    running.start()
    wait_until(lambda: bool(receiver.received))
    stopped.set()
    running.join()
    assert delivery_of(event).state == State.DELIVERED


def test_an_outcome_that_comes_late_does_not_overwrite_a_later_one(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    Hook.objects.update(last_status="500", last_at=clock.now + timedelta(seconds=5), last_event="test")
    event = emit(hooked, now=clock.now)
    deliver()
    assert delivery_of(event).state == State.DELIVERED
    assert hook_of(hooked).last_status == "500"


def test_an_uncommitted_event_is_not_sent(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    with transaction.atomic():
        emit(hooked, now=clock.now)
        thread = threading.Thread(target=deliver)
        thread.start()
        thread.join()
    assert receiver.received == []
    assert Event.objects.count() == Delivery.objects.count() == 1


def _held_of_the_pool() -> int:
    pool = connection.pool.get_stats()  # type: ignore[attr-defined]  # PostgreSQL's alone
    return int(pool["pool_size"] - pool["pool_available"])
