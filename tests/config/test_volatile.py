from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import redis

from config import volatile


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    volatile.forget_outage()
    yield
    volatile.forget_outage()


def _fail(client: redis.Redis) -> None:
    raise redis.ConnectionError("gone")


def test_what_redis_says_is_returned() -> None:
    assert volatile.attempt(lambda client: client.ping()) is True


def test_after_a_failure_redis_is_not_asked_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(volatile.Away):
        volatile.attempt(_fail)
    now = time.monotonic()
    with pytest.raises(volatile.Away):
        volatile.attempt(lambda _: pytest.fail("asked"))
    monkeypatch.setattr(time, "monotonic", lambda: now + volatile.OPEN_SECONDS)
    assert volatile.attempt(lambda client: client.ping()) is True


def test_faults_that_are_not_redis_are_not_hidden() -> None:
    def wrong(client: redis.Redis) -> None:
        raise KeyError("ours")

    with pytest.raises(KeyError):
        volatile.attempt(wrong)
