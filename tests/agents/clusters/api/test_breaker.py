"""After several failures in a row, a cluster is left alone for a while."""

from __future__ import annotations

from agents.clusters.api.breaker import FAILURES, OPEN_SECONDS, Breaker


class BreakerClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def broken(clock: BreakerClock) -> Breaker:
    breaker = Breaker(clock)
    for _ in range(FAILURES):
        assert breaker.lets_through()
        breaker.failed()
    return breaker


def test_after_several_failures_nobody_gets_through() -> None:
    breaker = broken(BreakerClock())
    assert not breaker.lets_through()


def test_after_a_while_one_call_at_a_time_tries() -> None:
    clock = BreakerClock()
    breaker = broken(clock)
    clock.now += OPEN_SECONDS
    assert [breaker.lets_through() for _ in range(3)] == [True, False, False]


def test_a_try_that_works_lets_all_through_again() -> None:
    clock = BreakerClock()
    breaker = broken(clock)
    clock.now += OPEN_SECONDS
    assert breaker.lets_through()
    breaker.worked()
    assert all(breaker.lets_through() for _ in range(10))


def test_failures_with_successes_between_them_open_nothing() -> None:
    breaker = Breaker(BreakerClock())
    for _ in range(FAILURES * 3):
        breaker.failed()
        breaker.worked()
        assert breaker.lets_through()
