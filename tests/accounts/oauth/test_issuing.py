"""Each answer of a person makes one key at most, whoever brings its code, and however many at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone

from accounts import personal
from accounts.models import ApiKey, User
from accounts.oauth import issuing
from accounts.oauth.issuing import LostCode
from accounts.oauth.models import OAuthGrant
from config.crypto import sha256
from tests.accounts.oauth.asking_program import answered, exchanged, request_of
from tests.pages.account.visitor import Visitor

THREADS = 12


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.create_user("owner@example.com")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("program")
def test_a_code_that_many_bring_at_once_makes_one_key_which_is_ended(owner: User) -> None:
    code = answered(Visitor(owner), request_of())["code"]

    def bring(_: int) -> int:
        try:
            return int(exchanged(code).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        statuses = sorted(pool.map(bring, range(THREADS)))
    assert statuses == [200, *[400] * (THREADS - 1)]
    key = ApiKey.objects.get(user=owner)
    assert key.revoked_at is not None
    assert OAuthGrant.objects.get().key == key


@pytest.mark.django_db
@pytest.mark.usefixtures("program")
def test_a_code_is_nothing_once_its_person_is_gone(owner: User) -> None:
    code = answered(Visitor(owner), request_of())["code"]
    found = OAuthGrant.objects.get(pk=sha256(code))
    personal.erase(owner)
    assert exchanged(code).json()["error"] == "invalid_grant"
    with pytest.raises(LostCode):  # the request had found the code before
        issuing.issue(found, now=timezone.now())
    assert not ApiKey.objects.exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("program")
def test_a_person_who_is_suspended_while_the_code_is_read_gets_no_key(owner: User) -> None:
    found = OAuthGrant.objects.get(pk=sha256(answered(Visitor(owner), request_of())["code"]))
    User.objects.filter(pk=owner.pk).update(is_active=False)
    with pytest.raises(LostCode):
        issuing.issue(found, now=timezone.now())
    assert not ApiKey.objects.exists()
