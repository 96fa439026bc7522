"""The embedded PostgreSQL when root runs it: as its own user, wherever the checkout is."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

import pytest

from config.run import postgres

pytestmark = pytest.mark.unmeasured


def test_a_pid_file_of_another_program_is_forgotten_and_a_servers_is_kept(tmp_path: Path) -> None:
    pid_file = tmp_path / "postmaster.pid"
    for text in (f"{os.getpid()}\n/data\n", "no pid\n", ""):
        pid_file.write_text(text, encoding="utf-8")
        postgres.forget_stale_pid(tmp_path)
    assert pid_file.exists()  # the server itself judges the last two
    pid_file.write_text(f"{os.getpid()}\n", encoding="utf-8")
    postgres.forget_stale_pid(tmp_path)
    assert not pid_file.exists()
    postgres.forget_stale_pid(tmp_path)


def test_data_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    with pytest.raises(postgres.PostgresRefusal, match="belongs to another user"):
        postgres.user_of(tmp_path)


def test_data_stays_where_it_was_first_put(tmp_path: Path) -> None:
    (tmp_path / "postgres.path").write_text("/elsewhere/data\n", encoding="utf-8")
    assert postgres.place(tmp_path) == Path("/elsewhere/data")


def test_a_failing_initdb_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "postgres"
    data.mkdir()
    monkeypatch.setattr(postgres, "_as", lambda user: ["/bin/sh", "-c", "echo no space left >&2; exit 1"])
    with pytest.raises(postgres.PostgresRefusal, match="no space left"):
        postgres.initialise(data)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_programs_in_a_closed_environment_are_copied_for_the_servers_user(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "SYSTEM_HOME", base / "system")
    monkeypatch.setattr(postgres, "_enters", lambda user, directory: False)
    programs = postgres._programs(pwd.getpwnam("nobody"))
    assert programs.is_relative_to(base / "system")
    assert postgres._programs(pwd.getpwnam("nobody")) == programs
    version = subprocess.run(
        [programs / "initdb", "--version"], user="nobody", extra_groups=[], cwd="/", capture_output=True, check=True
    )
    assert b"PostgreSQL" in version.stdout
