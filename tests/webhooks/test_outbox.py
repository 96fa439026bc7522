"""Which deliveries a drain gets, and that its results do not count after its lease has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from tests.webhooks.conftest import HookClock, MakeAgent, delivery_of, emit, hook_of
from webhooks import deliveries, delivery_loop, outbox
from webhooks.deliveries import AttemptResult, Claim
from webhooks.event_types import EventType
from webhooks.models import Delivery, Hook, Problem, State
from webhooks.outbox import Outbox

T = TypeVar("T")

pytestmark = pytest.mark.django_db(transaction=True)

TIMED_OUT = AttemptResult(status=None, problem=Problem.TIMEOUT, seconds=10)
OK = AttemptResult(status=204, problem=None, seconds=0.1)


def with_outbox(work: Callable[[Outbox], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        box = await Outbox.open(delivery_loop._connection_parameters())
        try:
            return await work(box)
        finally:
            await box.close()

    return asyncio.run(run())


def claim(clock: HookClock, *, slots: int = 100, slow_slots: int = 25) -> list[Claim]:
    return with_outbox(lambda box: box.claim(slots=slots, slow_slots=slow_slots, now=clock.now))


def record(clock: HookClock, claims: list[Claim], answer: AttemptResult) -> None:
    outcomes = [deliveries.judge(claim, answer, began=clock.now, at=clock.now) for claim in claims]
    with_outbox(lambda box: box.record(outcomes))


def hosts(number: int) -> str:
    return f"https://receiver-{number}.example/"


def test_a_claim_holds_all_that_sending_takes_and_the_sealed_secret(make_agent: MakeAgent, clock: HookClock) -> None:
    agent = make_agent(hosts(1))
    event = emit(agent, now=clock.now)
    (taken,) = claim(clock)
    assert (taken.event_id, taken.agent_id, taken.event_type) == (event.pk, agent.pk, "agent.running")
    assert (taken.body, taken.url, taken.attempts, taken.claims) == (event.body, hosts(1), 0, 1)
    assert hook_of(agent).secret not in taken.sealed_secret


def test_what_is_leased_is_not_taken_again_until_the_lease_ends(make_agent: MakeAgent, clock: HookClock) -> None:
    emit(make_agent(hosts(1)), now=clock.now)
    assert len(claim(clock)) == 1
    clock.forward(29)
    assert claim(clock) == []
    clock.forward(2)
    (again,) = claim(clock)
    assert (again.attempts, again.claims) == (0, 2)


def test_one_delivery_of_an_agent_is_in_flight_at_a_time(make_agent: MakeAgent, clock: HookClock) -> None:
    agent = make_agent(hosts(1))
    first, second = (emit(agent, now=clock.forward(1)) for _ in range(2))
    assert [taken.event_id for taken in claim(clock)] == [first.pk]
    assert claim(clock) == []
    Delivery.objects.filter(pk=first.pk).update(state=State.DELIVERED, lease_until=None)
    assert [taken.event_id for taken in claim(clock)] == [second.pk]


def test_a_test_is_sent_beside_an_event_in_flight_and_nothing_beside_a_test(
    make_agent: MakeAgent, clock: HookClock
) -> None:
    agent = make_agent(hosts(1))
    event = emit(agent, now=clock.now)
    assert [taken.event_id for taken in claim(clock)] == [event.pk]
    test = emit(agent, EventType.TEST, now=clock.forward(1))
    assert [taken.event_id for taken in claim(clock)] == [test.pk]
    Delivery.objects.filter(pk=event.pk).update(state=State.DELIVERED, lease_until=None)
    emit(agent, now=clock.forward(1))
    assert claim(clock) == []


def test_a_test_goes_before_what_waits_longer(make_agent: MakeAgent, clock: HookClock) -> None:
    agent = make_agent(hosts(1))
    emit(agent, now=clock.now)
    test = emit(agent, EventType.TEST, now=clock.forward(5))
    assert [taken.event_id for taken in claim(clock)] == [test.pk]


def test_the_longest_waiting_agents_get_the_free_slots(make_agent: MakeAgent, clock: HookClock) -> None:
    events = [emit(make_agent(hosts(n)), now=clock.forward(1)) for n in range(5)]
    assert {taken.event_id for taken in claim(clock, slots=3)} == {event.pk for event in events[:3]}


def test_receivers_that_timed_out_share_a_lane_and_leave_the_rest_to_others(
    make_agent: MakeAgent, clock: HookClock
) -> None:
    slow = [make_agent(hosts(n)) for n in range(4)]
    Hook.objects.update(slow=True)
    quick = [make_agent(hosts(n)) for n in range(4, 6)]
    for agent in slow + quick:
        emit(agent, now=clock.forward(1))
    taken = claim(clock, slow_slots=1)
    assert {one.agent_id for one in taken} == {slow[0].pk, *(agent.pk for agent in quick)}


def test_one_dead_host_does_not_fill_the_lane_of_the_slow(make_agent: MakeAgent, clock: HookClock) -> None:
    dead = [make_agent("https://dead.example/") for _ in range(12)]
    other = make_agent(hosts(1))
    Hook.objects.update(slow=True)
    for agent in [*dead, other]:
        emit(agent, now=clock.forward(1))
    assert other.pk in {one.agent_id for one in claim(clock, slow_slots=9)}


def test_what_is_in_flight_elsewhere_counts_against_the_cap_of_a_host(make_agent: MakeAgent, clock: HookClock) -> None:
    for _ in range(12):
        emit(make_agent("https://busy.example/"), now=clock.now)
    assert len(claim(clock, slots=5)) == 5
    assert len(claim(clock)) == outbox.MAX_PER_AUTHORITY - 5
    assert claim(clock) == []


def test_two_drains_that_claim_at_once_never_take_the_same(make_agent: MakeAgent, clock: HookClock) -> None:
    for n in range(30):
        agent = make_agent(hosts(n))
        emit(agent, now=clock.now)
        emit(agent, now=clock.now)

    async def both() -> list[list[Claim]]:
        boxes = [await Outbox.open(delivery_loop._connection_parameters()) for _ in range(4)]
        try:
            work = [box.claim(slots=20, slow_slots=5, now=clock.now) for box in boxes]
            return await asyncio.gather(*work)
        finally:
            for box in boxes:
                await box.close()

    agents = [taken.agent_id for claims in asyncio.run(both()) for taken in claims]
    assert len(agents) == len(set(agents)) == 30


def test_an_outcome_counts_only_for_the_holder_of_the_lease(make_agent: MakeAgent, clock: HookClock) -> None:
    agent = make_agent(hosts(1))
    event = emit(agent, now=clock.now)
    lost = claim(clock)
    clock.forward(31)
    held = claim(clock)
    record(clock, lost, TIMED_OUT)
    assert (delivery_of(event).attempts, hook_of(agent).slow) == (0, False)
    record(clock, held, OK)
    assert (delivery_of(event).state, delivery_of(event).attempts) == (State.DELIVERED, 1)


def test_a_time_out_sends_the_hook_to_the_slow_lane_until_it_answers(make_agent: MakeAgent, clock: HookClock) -> None:
    agent = make_agent(hosts(1))
    event = emit(agent, now=clock.now)
    record(clock, claim(clock), TIMED_OUT)
    assert hook_of(agent).slow
    assert delivery_of(event).next_attempt_at == clock.now + timedelta(seconds=10)
    clock.forward(10)
    record(clock, claim(clock), AttemptResult(status=500, problem=None, seconds=1))
    assert not hook_of(agent).slow


def test_of_outcomes_written_together_the_latest_is_shown(make_agent: MakeAgent, clock: HookClock) -> None:
    agent = make_agent(hosts(1))
    emit(agent, EventType.AGENT_RUNNING, now=clock.now)
    (first,) = claim(clock)
    one = deliveries.judge(first, OK, began=clock.now, at=clock.now)
    Delivery.objects.update(lease_until=clock.now - timedelta(seconds=1))
    emit(agent, EventType.TEST, now=clock.now)
    (second,) = claim(clock)
    two = deliveries.judge(
        second, AttemptResult(status=201, problem=None, seconds=1), began=clock.now, at=clock.forward(1)
    )
    with_outbox(lambda box: box.record([two, one]))
    assert (hook_of(agent).last_status, hook_of(agent).last_event) == ("201", "test")


def test_a_poisoned_delivery_is_given_up(make_agent: MakeAgent, clock: HookClock) -> None:
    agent = make_agent(hosts(1))
    event = emit(agent, now=clock.now)
    for _ in range(deliveries.SPARE_CLAIMS):
        (taken,) = claim(clock)
        assert not taken.is_poison
        clock.forward(31)
    assert delivery_loop.drain(clock=clock, ahead=timedelta(0)) == 0
    assert (delivery_of(event).state, delivery_of(event).error) == (State.FAILED, "internal")
    assert hook_of(agent).last_status == "error: internal"


def test_a_lease_that_is_handed_back_counts_for_nothing(make_agent: MakeAgent, clock: HookClock) -> None:
    event = emit(make_agent(hosts(1)), now=clock.now)
    taken = claim(clock)
    with_outbox(lambda box: box.give_back(taken))
    assert (delivery_of(event).claims, delivery_of(event).lease_until) == (0, None)
    assert len(claim(clock)) == 1


def test_the_next_moment_of_work_is_the_first_due_row_or_the_first_lease_to_end(
    make_agent: MakeAgent, clock: HookClock
) -> None:
    assert outbox.soonest() is None
    emit(make_agent(hosts(1)), now=clock.now)
    claim(clock)
    assert outbox.soonest() == clock.now + outbox.LEASE
    emit(make_agent(hosts(2)), now=clock.forward(1))
    assert outbox.soonest() == clock.now
