"""This process's clock against the database's: compared now and then, and at once after a jump."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config import clock

pytestmark = pytest.mark.django_db
WRONG = timedelta(minutes=2)


@pytest.fixture(autouse=True)
def compared() -> Iterator[None]:
    """This process has just found both clocks alike."""
    clock._compared.at = None
    clock.now()
    yield
    clock._compared.at = None


def test_the_database_is_not_asked_again_for_a_few_seconds() -> None:
    with CaptureQueriesContext(connection) as queries:
        assert clock.now() < clock.now()
    assert len(queries) == 0


def test_it_is_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "HOLDS_SECONDS", 0)
    with CaptureQueriesContext(connection) as queries:
        clock.now()
    assert len(queries) == 1


@pytest.mark.parametrize("jump", [WRONG, -WRONG])
def test_a_clock_that_jumps_meanwhile_is_found_at_once(jump: timedelta) -> None:
    with time_machine.travel(datetime.now(UTC) + jump), pytest.raises(clock.ClockDiffers):
        clock.now()


def test_a_wrong_clock_is_refused_each_time() -> None:
    with time_machine.travel(datetime.now(UTC) + WRONG):
        for _ in range(2):
            with pytest.raises(clock.ClockDiffers):
                clock.now()
    assert abs(clock.now() - clock.of_the_database()) < WRONG
