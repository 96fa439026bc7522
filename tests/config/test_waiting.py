from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest
from django.db import connection
from pytest_django import Settings

from config import waiting
from config.callers import Caller
from config.errors import Unavailable
from config.waiting import WaitLimit


def test_the_next_call_after_the_last_place_is_told_when_to_come_again() -> None:
    places = WaitLimit(3, each=lambda: 2)
    with ExitStack() as waiters:
        for account in ("a", "a", "b"):
            waiters.enter_context(places.take(account))
        with pytest.raises(Unavailable) as refused, places.take("c"):
            pass
    assert refused.value.status == 503
    assert int(refused.value.headers["Retry-After"]) > 0


def test_an_account_has_no_more_than_its_share(settings: Settings) -> None:
    settings.WAITING_CALLS_PER_ACCOUNT = 2
    with ExitStack() as waiters:
        for _ in range(2):
            waiters.enter_context(waiting.turns.take("usr_a"))
        with pytest.raises(Unavailable, match="2 calls of this account"), waiting.turns.take("usr_a"):
            pass
        with waiting.turns.take("usr_b"):
            pass


def test_a_place_is_free_again_after_a_failure() -> None:
    places = WaitLimit(2, each=lambda: 1)
    for _ in range(5):
        with pytest.raises(RuntimeError), places.take("a"):
            raise RuntimeError


@pytest.mark.django_db(transaction=True)
def test_a_call_that_waits_holds_no_database_connection() -> None:
    connection.ensure_connection()
    with waiting.turns.take("usr_a"):
        assert connection.connection is None


@pytest.mark.django_db
def test_a_connection_with_an_open_transaction_is_kept() -> None:
    with waiting.turns.take("usr_a"):
        assert connection.connection is not None


def test_a_caller_that_left_ends_what_is_done_for_it_once() -> None:
    caller, ended = Caller(on_wait=lambda: None), []
    with caller.ends(lambda: ended.append("first")):
        leaving = threading.Thread(target=caller.leave)
        leaving.start()
        leaving.join()
    with caller.ends(lambda: ended.append("too late")):
        assert caller.has_left
    assert ended == ["first", "too late"]


def test_what_was_done_before_the_caller_left_is_not_ended() -> None:
    caller, ended = Caller(on_wait=lambda: None), []
    with caller.ends(lambda: ended.append("done")):
        pass
    caller.leave()
    assert ended == []
