from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from accounts.models import IdempotentReply, SignInCode, User
from config import rotation
from config.crypto import reseal

OLD, NEW, OTHER = (Fernet.generate_key().decode() for _ in range(3))
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _old_key(settings: Settings) -> None:
    settings.SECRETS_KEYS = [OLD]


def _code(number: int, sealed: str | None = "123456") -> SignInCode:
    return SignInCode.objects.create(
        email=f"a{number}@b.com", lang="en", sealed=sealed, created_at=NOON, expires_at=NOON, forget_at=NOON
    )


def _stored() -> list[str | None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed FROM accounts_householdcode ORDER BY email")
        return [sealed for (sealed,) in cursor.fetchall()]


def _rotate() -> str:
    out = StringIO()
    call_command("rotate_secrets", stdout=out)
    return out.getvalue()


def test_every_secret_of_every_app_is_re_encrypted_under_the_newest_key(settings: Settings) -> None:
    code, _ = _code(1), _code(2, sealed=None)
    user = User.objects.create_user("a@b.com")
    reply = IdempotentReply.objects.create(
        user=user, method="POST", path="/", key="k", fingerprint="", created_at=NOON, reserved_at=NOON, reply={"a": [1]}
    )
    settings.SECRETS_KEYS = [NEW, OLD]
    out = _rotate()
    assert "accounts.SignInCode.sealed: 1 re-encrypted, 0 already current, 0 unreadable" in out
    assert "accounts.IdempotentReply.reply: 1 re-encrypted" in out
    settings.SECRETS_KEYS = [NEW]
    code.refresh_from_db()
    reply.refresh_from_db()
    assert code.sealed == "123456"
    assert reply.reply == {"a": [1]}
    assert _stored()[1] is None


def test_a_second_run_writes_nothing(settings: Settings) -> None:
    _code(1)
    settings.SECRETS_KEYS = [NEW, OLD]
    _rotate()
    before = _stored()
    assert "accounts.SignInCode.sealed: 0 re-encrypted, 1 already current" in _rotate()
    assert _stored() == before


def test_many_rows_go_in_batches(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "BATCH", 2)
    for number in range(5):
        _code(number)
    settings.SECRETS_KEYS = [NEW, OLD]
    assert "accounts.SignInCode.sealed: 5 re-encrypted" in _rotate()


def test_values_of_an_unknown_key_are_left_and_reported(settings: Settings) -> None:
    _code(1)
    settings.SECRETS_KEYS = [OTHER]
    _code(2)
    before = _stored()
    settings.SECRETS_KEYS = [NEW, OTHER]
    with pytest.raises(CommandError, match="1 values were sealed with a key"):
        _rotate()
    after = _stored()
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_a_value_that_changes_meanwhile_is_not_overwritten(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    code = _code(1)
    settings.SECRETS_KEYS = [NEW, OLD]

    def while_somebody_writes(sealed: str) -> str:
        SignInCode.objects.filter(pk=code.pk).update(sealed="654321")
        return reseal(sealed)

    monkeypatch.setattr(rotation, "reseal", while_somebody_writes)
    _rotate()
    code.refresh_from_db()
    assert code.sealed == "654321"


def test_all_encrypted_columns_are_found() -> None:
    found = {f"{model._meta.label}.{column.name}" for model, column in rotation.encrypted_columns()}
    assert {"accounts.SignInCode.sealed", "accounts.IdempotentReply.reply", "webhooks.Hook.secret"} <= found
