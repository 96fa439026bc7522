from __future__ import annotations

from contextlib import ExitStack

import pytest
from django.db import connection

from config import waiting
from config.errors import Unavailable


def test_at_most_48_calls_wait_and_the_next_is_told_when_to_come_again() -> None:
    with ExitStack() as waiters:
        for _ in range(48):
            waiters.enter_context(waiting.place())
        with pytest.raises(Unavailable) as refused, waiting.place():
            pass
    assert refused.value.status == 503
    assert int(refused.value.headers["Retry-After"]) > 0


def test_a_place_is_free_again_after_a_failure() -> None:
    for _ in range(100):
        with pytest.raises(RuntimeError), waiting.place():
            raise RuntimeError


@pytest.mark.django_db(transaction=True)
def test_who_waits_holds_no_database_connection() -> None:
    connection.ensure_connection()
    with waiting.place():
        assert connection.connection is None


@pytest.mark.django_db
def test_a_connection_with_an_open_transaction_is_kept() -> None:
    with waiting.place():
        assert connection.connection is not None
