from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import redis

from config import redis_breaker


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    redis_breaker.forget_outage()
    yield
    redis_breaker.forget_outage()


def _fail(client: redis.Redis) -> None:
    raise redis.ConnectionError("gone")


def test_what_redis_says_is_returned() -> None:
    assert redis_breaker.attempt(lambda client: client.ping()) is True


def test_after_a_failure_redis_is_not_asked_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(redis_breaker.Away):
        redis_breaker.attempt(_fail)
    now = time.monotonic()
    with pytest.raises(redis_breaker.Away):
        redis_breaker.attempt(lambda _: pytest.fail("asked"))
    monkeypatch.setattr(time, "monotonic", lambda: now + redis_breaker.OPEN_SECONDS)
    assert redis_breaker.attempt(lambda client: client.ping()) is True


def test_faults_that_are_not_redis_are_not_hidden() -> None:
    def wrong(client: redis.Redis) -> None:
        raise KeyError("ours")

    with pytest.raises(KeyError):
        redis_breaker.attempt(wrong)
