from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from django.db import connection

from accounts import signin
from accounts.errors import NoLiveCode, TooManyWrongTries, WrongCode
from accounts.models import Session, SignInCode, User
from config.errors import ServiceError
from tests.accounts.conftest import ANN

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
THREADS = 8

T = TypeVar("T")

pytestmark = pytest.mark.django_db(transaction=True)


def _at_once(work: Callable[[int], T], times: int) -> list[T]:
    """`work(0)`, `work(1)`, … in threads that have database connections of their own."""

    def alone(number: int) -> T:
        try:
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(alone, range(times)))


def _verify(code: str) -> str:
    """What came of it: `in`, or the name of the refusal."""
    try:
        signin.verify_code(ANN, code=code, attribution=None, now=NOON)
    except ServiceError as refusal:
        return type(refusal).__name__
    return "in"


def _request() -> str:
    return str(signin.request_code(ANN, lang="en", now=NOON))


def _wrong(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06d}"


def test_of_many_who_use_one_code_at_once_one_gets_in() -> None:
    code = _request()
    outcomes = _at_once(lambda _: _verify(code), 24)
    assert outcomes.count("in") == 1
    assert outcomes.count(NoLiveCode.__name__) == 23
    assert Session.objects.count() == 1
    assert User.objects.count() == 1


def test_wrong_tries_at_once_are_all_counted() -> None:
    code = _request()
    outcomes = _at_once(lambda _: _verify(_wrong(code)), 40)
    assert outcomes.count(WrongCode.__name__) == signin.WRONG_TRIES_PER_WINDOW
    assert outcomes.count(TooManyWrongTries.__name__) == 40 - signin.WRONG_TRIES_PER_WINDOW
    assert _verify(code) == TooManyWrongTries.__name__
    assert len(SignInCode.objects.get().wrong_tries_at) == signin.WRONG_TRIES_PER_WINDOW


def test_of_codes_asked_for_at_once_one_lives() -> None:
    codes = _at_once(lambda _: _request(), 8)
    assert SignInCode.objects.count() == 1
    assert [_verify(code) for code in codes].count("in") == 1


def test_wrong_tries_are_remembered_over_new_codes() -> None:
    for _ in range(signin.WRONG_TRIES_PER_WINDOW):
        assert _verify(_wrong(_request())) == WrongCode.__name__
    assert _verify(_request()) == TooManyWrongTries.__name__


def test_the_digest_of_a_code_is_not_the_same_for_two_mailboxes() -> None:
    assert signin._digest("ann@example.com", "123456") != signin._digest("bob@example.com", "123456")
