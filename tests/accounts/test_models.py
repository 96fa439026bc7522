from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction

from accounts.mailbox import NotAnAddress
from accounts.models import ApiKey, SignInCode, User

pytestmark = pytest.mark.django_db


def test_a_user_has_an_id_with_its_prefix_and_the_canonical_address() -> None:
    user = User.objects.create_user("Ann@BÜCHER.example")
    assert user.pk.startswith("usr_")
    assert user.email == str(user) == "ann@xn--bcher-kva.example"
    assert not user.has_usable_password()
    assert (user.is_staff, user.is_superuser, user.is_active) == (False, False, True)


def test_no_two_users_have_one_mailbox() -> None:
    User.objects.create_user("ann@example.com")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create_user("ANN@Example.com")


def test_a_user_needs_an_address() -> None:
    with pytest.raises(NotAnAddress):
        User.objects.create_user("nonsense")


def test_an_operator_is_made_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a good long password")
    call_command("createsuperuser", "--noinput", "--email", "Op@Example.com", stdout=StringIO())
    operator = User.objects.get_by_natural_key("OP@example.COM")
    assert operator.is_staff
    assert operator.is_superuser
    assert operator.check_password("a good long password")


def test_nobody_is_found_by_what_is_no_address() -> None:
    for name in ("nonsense", "", None):
        with pytest.raises(User.DoesNotExist):
            User.objects.get_by_natural_key(name)


def test_rows_say_who_they_are_without_secrets() -> None:
    assert str(ApiKey(name="agent", prefix="ak_live_abcd", digest="d" * 64)) == "agent (ak_live_abcd…)"
    assert "123456" not in repr(SignInCode(email="ann@example.com", sealed="123456"))
