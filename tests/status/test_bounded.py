from __future__ import annotations

import threading
import time

import pytest
from django.conf import settings
from django.db import connection

from status.bounded import FRESH_SECONDS, LIMIT_SECONDS, BoundedCheck


def test_a_check_that_returns_is_well_and_has_a_latency() -> None:
    outcome = BoundedCheck("fine", lambda: "value").outcome()
    assert (outcome.ok, outcome.value) == (True, "value")
    assert outcome.latency_ms is not None


def test_a_check_that_raises_is_not_well() -> None:
    def refuse() -> None:
        raise OSError("connection refused")

    outcome = BoundedCheck("broken", refuse).outcome()
    assert (outcome.ok, outcome.value) == (False, None)


def test_a_result_is_shared_while_it_is_fresh() -> None:
    calls: list[int] = []
    check = BoundedCheck("counted", lambda: calls.append(1))
    check.outcome()
    check.outcome()
    assert len(calls) == 1
    time.sleep(FRESH_SECONDS)
    check.outcome()
    assert len(calls) == 2


@pytest.mark.django_db(transaction=True)
def test_a_check_gives_its_database_connection_back() -> None:
    asked = BoundedCheck("asked", lambda: connection.cursor().close(), fresh=0.0)
    assert all(asked.outcome().ok for _ in range(settings.DATABASE_POOL_SIZE + 1))


def test_nobody_waits_longer_than_the_limit_and_a_hung_check_is_not_started_twice() -> None:
    calls: list[int] = []
    hung = threading.Event()

    def hang() -> None:
        calls.append(1)
        hung.wait()

    check = BoundedCheck("hung", hang)
    began = time.monotonic()
    assert not check.outcome().ok
    assert time.monotonic() - began >= LIMIT_SECONDS

    began = time.monotonic()
    assert not any(check.outcome().ok for _ in range(20))  # the check is known to hang, so no other caller waits for it
    assert time.monotonic() - began < 20 * LIMIT_SECONDS
    assert len(calls) == 1

    hung.set()
    deadline = time.monotonic() + 2
    while not check.outcome().ok and time.monotonic() < deadline:
        time.sleep(0.01)
    assert check.outcome().ok
