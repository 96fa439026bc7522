"""Encrypted secrets whose key is lost: the row stays, and only operations that need the secret fail."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet
from django.db.models import TextField, Value
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.models import SignInCode
from config.crypto import UnreadableSecret, readable

pytestmark = pytest.mark.django_db

LOST = Fernet(Fernet.generate_key()).encrypt(b"123456").decode()


@pytest.fixture
def row() -> SignInCode:
    now = timezone.now()
    SignInCode.objects.create(
        email="ann@example.com", lang="en", created_at=now, expires_at=now, forget_at=now, sealed="123456"
    )
    SignInCode.objects.update(sealed=Value(LOST, TextField()))
    return SignInCode.objects.get()


def stored() -> str:
    return str(SignInCode.objects.annotate(text=Cast("sealed", TextField())).values_list("text", flat=True).get())


def test_who_needs_it_is_told_its_name(row: SignInCode) -> None:
    with pytest.raises(UnreadableSecret, match="sealed: cannot be decrypted any more"):
        _ = row.sealed


def test_saving_the_row_keeps_it_should_the_key_come_back(row: SignInCode) -> None:
    row.lang = "ru"
    row.save()
    assert stored() == LOST


def test_it_is_shown_as_if_never_set_and_not_forgotten_for_that(row: SignInCode) -> None:
    assert readable(row).sealed is None
    with pytest.raises(UnreadableSecret):
        _ = row.sealed


def test_it_is_replaced_like_any_other(row: SignInCode) -> None:
    row.sealed = "654321"
    row.save()
    found = SignInCode.objects.get()
    assert found.sealed == "654321"
    assert readable(found) is found


def test_a_deferred_one_is_read_when_it_is_asked_for(row: SignInCode) -> None:
    with pytest.raises(UnreadableSecret):
        _ = SignInCode.objects.defer("sealed").get().sealed
