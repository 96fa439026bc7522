"""Each attempt to deliver an event is a trace, which tells neither the receiver nor the agent."""

from __future__ import annotations

from collections.abc import Callable

from agents.models import Agent
from tests.doubles.collector import CollectedSpan, CollectorDouble
from tests.doubles.receiver import Receiver, status
from tests.patience import wait_until
from tests.webhooks.conftest import HookClock, emit

Deliver = Callable[[], int]


def attempts(collector: CollectorDouble) -> list[CollectedSpan]:
    return [one for one in collector.spans if one.name == "delivery"]


def test_each_attempt_is_a_trace_of_its_own(
    collector: CollectorDouble, hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    receiver.answers(status(503), status(204))
    emit(hooked, now=clock.now)
    deliver()
    clock.forward(600)
    deliver()
    wait_until(lambda: len(attempts(collector)) == 2)
    first, second = attempts(collector)
    told = [
        (one.attributes["agentpods.attempt"], one.attributes["http.response.status_code"]) for one in (first, second)
    ]
    assert told == [(1, 503), (2, 204)]
    assert (first.parent_id, second.parent_id, first.trace_id == second.trace_id) == ("", "", False)
    assert first.attributes["agentpods.event_type"] == "agent.running"


def test_neither_the_receiver_nor_the_collector_learns_of_the_other(
    collector: CollectorDouble, hooked: Agent, receiver: Receiver, deliver: Deliver, clock: HookClock
) -> None:
    emit(hooked, now=clock.now)
    deliver()
    collector.wait_for("delivery")
    (request,) = receiver.received
    assert request.header("traceparent") is None
    told = b"".join(collector.bodies)
    for secret in (str(receiver.port).encode(), hooked.pk.encode(), b"/hook"):
        assert secret not in told
