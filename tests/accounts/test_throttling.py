from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from accounts import throttling
from accounts.throttling import Limit, spend
from config import redis, redis_breaker
from config.errors import RateLimited
from tests.at_length import examples

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LIMIT = Limit(name="test", times=3, seconds=60)


@pytest.fixture
def away(request: pytest.FixtureRequest) -> bool:
    if request.param:
        request.getfixturevalue("redis_away")
    return bool(request.param)


def _times(limit: Limit, count: int, *, by: str, now: datetime) -> int:
    """How many of `count` uses are allowed."""
    allowed = 0
    for _ in range(count):
        try:
            spend(limit, by=by, now=now)
        except RateLimited:
            continue
        allowed += 1
    return allowed


@pytest.mark.parametrize("away", [False, True], ids=["redis", "process"], indirect=True)
def test_so_many_in_any_window_and_not_one_more(away: bool) -> None:
    for second in (0, 20, 40):
        spend(LIMIT, by="x", now=NOON + timedelta(seconds=second))
    with pytest.raises(RateLimited) as refused:
        spend(LIMIT, by="x", now=NOON + timedelta(seconds=41))
    assert refused.value.headers == {"Retry-After": "19"}
    assert _times(LIMIT, 5, by="x", now=NOON + timedelta(seconds=60)) == 1
    assert _times(LIMIT, 5, by="x", now=NOON + timedelta(seconds=80)) == 1


@pytest.mark.parametrize("away", [False, True], ids=["redis", "process"], indirect=True)
def test_callers_and_limits_are_counted_apart(away: bool) -> None:
    other = Limit(name="other", times=3, seconds=60)
    assert _times(LIMIT, 5, by="x", now=NOON) == 3
    assert _times(LIMIT, 5, by="y", now=NOON) == 3
    assert _times(other, 5, by="x", now=NOON) == 3


@pytest.mark.parametrize("away", [False, True], ids=["redis", "process"], indirect=True)
def test_threads_together_get_no_more_than_the_limit(away: bool) -> None:
    with ThreadPoolExecutor(8) as pool:
        allowed = sum(pool.map(lambda _: _times(LIMIT, 5, by="x", now=NOON), range(8)))
    assert allowed == 3


@given(steps=st.lists(st.integers(0, 40), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(50))
def test_no_window_holds_more_than_the_limit_in_either_store(redis_away: None, steps: list[int]) -> None:
    throttling.forget_local()
    now, allowed = NOON, []
    for step in steps:
        now += timedelta(seconds=step)
        if _times(LIMIT, 1, by="x", now=now):
            allowed.append(now)
    for first in allowed:
        assert sum(first <= at < first + timedelta(seconds=60) for at in allowed) <= 3


def test_a_process_remembers_a_bounded_number_of_callers(redis_away: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "MAX_LOCAL_COUNTS", 2)
    for by in ("x", "y", "x", "z"):
        spend(LIMIT, by=by, now=NOON)
    assert set(throttling._local) == {"throttle:test:x", "throttle:test:z"}


def test_counts_do_not_outlive_their_window_in_redis() -> None:
    spend(LIMIT, by="x", now=datetime.now(UTC))
    assert 0 < int(redis.client().pttl("throttle:test:x")) <= 60_000


def test_a_redis_that_hangs_costs_one_call_a_second_and_the_others_nothing(settings: Settings) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        settings.REDIS_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        redis.client.cache_clear()
        began = time.monotonic()
        spend(LIMIT, by="x", now=NOON)
        first = time.monotonic() - began
        for _ in range(50):
            spend(LIMIT, by=f"{_}", now=NOON)
        rest = time.monotonic() - began - first
    redis.client.cache_clear()
    assert first < 1.5
    assert rest < 0.2


def test_redis_is_asked_again_after_a_while(redis_away: None, settings: Settings) -> None:
    with pytest.raises(redis_breaker.Away):
        redis_breaker.attempt(lambda client: client.ping())
    redis_breaker.forget_outage()
    with pytest.raises(redis_breaker.Away):
        redis_breaker.attempt(lambda client: client.ping())
