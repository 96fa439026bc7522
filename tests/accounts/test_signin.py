from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from django.db import connection
from pytest_django import Settings

from accounts import signin
from accounts.errors import NoLiveCode, TooManyStrangers, TooManyWrongTries, WrongCode
from accounts.models import Session, SignInCode, User, WrongTry
from config.errors import ServiceError
from tests.accounts.conftest import ANN

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOME = "127.0.0.1"
THREADS = 8

T = TypeVar("T")

pytestmark = pytest.mark.django_db(transaction=True)


def _at_once(work: Callable[[int], T], times: int) -> list[T]:
    """Run `work(0)`, `work(1)`, … in threads with their own database connections. Returns the results."""

    def alone(number: int) -> T:
        try:
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(alone, range(times)))


def _verify(code: str, email: str = ANN, *, household: str = HOME, now: datetime = NOON) -> str:
    """Try the code. Returns `in`, or the name of the refusal."""
    try:
        signin.verify_code(email, code=code, household=household, attribution=None, now=now)
    except ServiceError as refusal:
        return type(refusal).__name__
    return "in"


def _request(email: str = ANN, *, household: str = HOME, now: datetime = NOON) -> str:
    return str(signin.request_code(email, household=household, lang="en", now=now))


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
    outcomes = _at_once(lambda _: _verify(_wrong(code)), 20)
    assert outcomes.count(WrongCode.__name__) == signin.TRIES_PER_CODE
    assert outcomes.count(TooManyWrongTries.__name__) == 20 - signin.TRIES_PER_CODE
    assert _verify(code) == TooManyWrongTries.__name__
    assert WrongTry.objects.count() == signin.TRIES_PER_CODE


def test_strangers_at_once_have_no_more_tries_together_than_one_after_the_other() -> None:
    code = _request()

    def mistype(number: int) -> str:
        return _verify(_wrong(code), household=f"198.51.100.{number % 20}")

    first = [mistype(number) for number in range(40)]  # each of the twenty addresses: a slip, then a try
    outcomes = [*first, *_at_once(mistype, 40)]
    assert outcomes.count(WrongCode.__name__) == signin.STRANGE_TRIES
    assert outcomes.count(TooManyStrangers.__name__) == 80 - signin.STRANGE_TRIES
    assert _verify(code) == "in"


def test_of_codes_asked_for_at_once_one_lives() -> None:
    # As many as this, so that the last code may still be tried.
    codes = _at_once(lambda _: _request(), signin.TRIES_PER_CODE)
    assert SignInCode.objects.count() == 1
    assert [_verify(code) for code in codes].count("in") == 1


def test_the_digest_of_a_code_is_not_the_same_for_two_mailboxes() -> None:
    assert signin._digest("ann@example.com", "123456") != signin._digest("bob@example.com", "123456")


def _tagged(number: int) -> str:
    """Another address of Ann's mailbox, which has another account."""
    return ANN.replace("@", f"+{number}@")


def test_mails_count_by_address_and_those_of_one_stranger_by_mailbox(settings: Settings) -> None:
    settings.SHOW_DEV_CODES = False
    _at_once(lambda number: _request(household=f"192.0.2.{number}"), 24)
    assert sum(len(row.mails_at) for row in SignInCode.objects.all()) == signin.MAILS_TO_STRANGERS
    _at_once(lambda number: _request(_tagged(number), household="198.51.100.1"), 24)
    rows = SignInCode.objects.exclude(email=ANN)
    assert sum(len(row.mails_at) for row in rows) == len(rows) == signin.MAILS_TO_A_STRANGER


def test_each_address_of_a_mailbox_is_an_account_with_a_code_of_its_own() -> None:
    first, second = _request(_tagged(1)), _request(_tagged(2))
    assert [_verify(first, _tagged(1)), _verify(second, _tagged(2))] == ["in", "in"]
    assert User.objects.count() == 2
