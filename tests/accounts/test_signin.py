from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from django.db import connection
from pytest_django import Settings

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


def _verify(code: str, email: str = ANN) -> str:
    """What came of it: `in`, or the name of the refusal."""
    try:
        signin.verify_code(email, code=code, attribution=None, now=NOON)
    except ServiceError as refusal:
        return type(refusal).__name__
    return "in"


def _request(email: str = ANN) -> str:
    return str(signin.request_code(email, lang="en", now=NOON))


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


def _tagged(number: int) -> str:
    """Another address, and account, of Ann's mailbox."""
    return ANN.replace("@", f"+{number}@")


def test_wrong_tries_count_over_all_addresses_of_a_mailbox() -> None:
    codes = {_tagged(number): _request(_tagged(number)) for number in range(4)}
    outcomes = _at_once(lambda number: _verify(_wrong(codes[_tagged(number % 4)]), _tagged(number % 4)), 40)
    assert outcomes.count(WrongCode.__name__) == signin.WRONG_TRIES_PER_WINDOW
    assert outcomes.count(TooManyWrongTries.__name__) == 40 - signin.WRONG_TRIES_PER_WINDOW
    assert _verify(codes[_tagged(0)], _tagged(0)) == TooManyWrongTries.__name__
    assert _verify(_request("bob@example.com"), "bob@example.com") == "in"


def test_mails_count_over_all_addresses_of_a_mailbox_and_what_is_over_leaves_no_row(settings: Settings) -> None:
    settings.SHOW_DEV_CODES = False
    _at_once(lambda number: _request(_tagged(number)), 2 * signin.MAILS_PER_WINDOW)
    rows = SignInCode.objects.all()
    assert sum(len(row.mails_at) for row in rows) == len(rows) == signin.MAILS_PER_WINDOW


def test_each_address_of_a_mailbox_is_an_account_with_a_code_of_its_own() -> None:
    first, second = _request(_tagged(1)), _request(_tagged(2))
    assert [_verify(first, _tagged(1)), _verify(second, _tagged(2))] == ["in", "in"]
    assert User.objects.count() == 2
