"""A webhook changes while its deliveries are under way."""

from __future__ import annotations

import threading
from collections.abc import Callable

from agents.models import Agent
from tests.doubles.receiver import Receiver, after, status
from tests.patience import wait_until
from tests.webhooks.conftest import HookClock, delivery_of, emit, hook_of
from webhooks import hooks, signing
from webhooks.event_types import EventType
from webhooks.models import Hook, State

Deliver = Callable[[], int]


def test_for_a_day_after_a_rotation_the_secret_of_before_signs_beside(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    old = hook_of(hooked).secret
    _, new = hooks.install(hooked, url=receiver.url, now=clock.now)
    emit(hooked, now=clock.now)
    clock.forward(24 * 3600 - 1)
    deliver()
    emit(hooked, now=clock.now)
    clock.forward(2)
    deliver()
    first, second = receiver.received
    assert first.header("X-Service-Signature") == signing.signature(first.body, new)
    assert first.header("X-Service-Signature-Previous") == signing.signature(first.body, old)
    assert second.header("X-Service-Signature-Previous") is None


def test_a_retry_goes_to_the_new_address_with_the_new_secret(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(status(500))
    emit(hooked, now=clock.now)
    deliver()
    with Receiver().listening() as moved:
        _, secret = hooks.install(hooked, url=moved.url, now=clock.now)
        clock.forward(10)
        deliver()
        (request,) = moved.received
    assert request.header("X-Service-Signature") == signing.signature(request.body, secret)


def test_what_the_receiver_of_before_answers_late_is_not_told_of_the_new_one(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(after(0.5, status(204)))
    event = emit(hooked, now=clock.now)
    drain = threading.Thread(target=deliver)
    drain.start()
    wait_until(lambda: bool(receiver.received))
    with Receiver().listening() as moved:
        hooks.install(hooked, url=moved.url, now=clock.now)
        drain.join()
        assert delivery_of(event).state == State.DELIVERED
        hook = hook_of(hooked)
        assert (hook.last_status, hook.last_at, hook.last_event, hook.slow) == (None, None, None, False)
        emit(hooked, EventType.TEST, now=clock.now)
        deliver()
    assert (hook_of(hooked).last_status, hook_of(hooked).last_event) == ("204", "test")


def test_a_late_answer_still_counts_when_only_the_secret_was_rotated(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(after(0.5, status(204)))
    emit(hooked, now=clock.now)
    drain = threading.Thread(target=deliver)
    drain.start()
    wait_until(lambda: bool(receiver.received))
    hooks.install(hooked, url=receiver.url, now=clock.now)
    drain.join()
    assert hook_of(hooked).last_status == "204"


def test_what_was_in_flight_when_the_hook_was_removed_leaves_no_trace(
    hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(after(0.5, status(204)))
    event = emit(hooked, now=clock.now)
    drain = threading.Thread(target=deliver)
    drain.start()
    wait_until(lambda: bool(receiver.received))
    hooks.remove(hooked)
    drain.join()
    assert delivery_of(event).state == State.CANCELED
    assert not Hook.objects.exists()
