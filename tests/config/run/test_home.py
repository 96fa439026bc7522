"""${AGENTPODS_HOME}: which files are created there, once, and for which user."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from config import embedded
from config.run import home, prepare


@pytest.fixture
def long_home(base: Path) -> Iterator[Path]:
    """A home directory whose name is too long for any socket."""
    long = base / ("x" * 120)
    home.make(long)
    yield long
    for directory in _stand_ins(long):
        shutil.rmtree(directory, ignore_errors=True)


def _stand_ins(home: Path) -> list[Path]:
    return [
        embedded.socket_directory(home / "postgres", embedded.POSTGRES_SOCKET),
        embedded.redis_socket(home).parent,
    ]


def test_sockets_of_a_short_home_lie_in_it(base: Path) -> None:
    assert _stand_ins(base) == [base / "postgres", base / "redis"]


def test_sockets_of_a_long_home_lie_in_private_directories_nearby(long_home: Path) -> None:
    home.make_socket_directories(long_home)
    home.make_socket_directories(long_home)
    for directory in _stand_ins(long_home):
        assert directory.parent == Path("/tmp")
        assert directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("squat", ["open", "link"])
def test_a_directory_that_others_may_have_prepared_is_refused(long_home: Path, base: Path, squat: str) -> None:
    redis = _stand_ins(long_home)[1]
    if squat == "open":
        redis.mkdir(mode=0o777)
        redis.chmod(0o777)
    else:
        (base / "elsewhere").mkdir(mode=0o700)
        redis.symlink_to(base / "elsewhere")
    try:
        with pytest.raises(home.HomeRefusal, match="other users own it or can open it"):
            home.make_socket_directories(long_home)
    finally:
        redis.unlink() if redis.is_symlink() else redis.rmdir()


def test_what_is_there_keeps_its_permissions(base: Path) -> None:
    closed = base / "closed"
    closed.mkdir(mode=0o700)
    home.make(closed)
    assert closed.stat().st_mode & 0o777 == 0o700
    assert {(closed / name).stat().st_mode & 0o777 for name in home.PRIVATE} == {0o700}


def test_secrets_are_generated_once_and_not_where_they_are_given(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.generate_secrets(base)
    first = (base / "secrets.env").read_text(encoding="utf-8")
    home.generate_secrets(base)
    assert (base / "secrets.env").read_text(encoding="utf-8") == first

    (base / "secrets.env").unlink()
    monkeypatch.setenv("SECRET_KEY", "given")
    monkeypatch.setenv("SECRETS_KEYS", "given")
    home.generate_secrets(base)
    assert not (base / "secrets.env").exists()


@pytest.fixture
def operator_home(base: Path, settings: Any, db: None) -> Path:
    settings.AGENTPODS_HOME = base
    return base


def _operator(home: Path) -> tuple[User, str]:
    email, password = (home / "operator.txt").read_text(encoding="utf-8").split()
    return User.objects.get(email=email), password


def test_the_operator_is_made_once(operator_home: Path) -> None:
    prepare.ensure_operator()
    operator, password = _operator(operator_home)
    prepare.ensure_operator()
    assert _operator(operator_home) == (operator, password)
    assert operator.is_superuser
    assert operator.is_staff
    assert operator.check_password(password)
    assert (operator_home / "operator.txt").stat().st_mode & 0o777 == 0o600


def test_what_operator_txt_says_holds_again_after_either_was_lost(operator_home: Path) -> None:
    prepare.ensure_operator()
    (operator_home / "operator.txt").unlink()
    prepare.ensure_operator()
    operator, password = _operator(operator_home)
    assert operator.check_password(password)
    operator.delete()
    prepare.ensure_operator()
    assert _operator(operator_home)[0].check_password(password)


@pytest.mark.parametrize(
    ("message", "final"),
    [
        ('FATAL:  database "x" does not exist', True),
        ("FATAL:  password authentication failed", True),
        ("FATAL:  the database system is starting up", False),
        ("FATAL:  the database system is in recovery mode", False),
        ("connection refused", False),
    ],
)
def test_only_a_refusal_ends_the_wait_for_the_database(message: str, final: bool) -> None:
    assert prepare._is_final(message) is final


def test_migrating_what_is_migrated_does_nothing(db: None) -> None:
    prepare.migrate()
