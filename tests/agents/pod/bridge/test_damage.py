"""Which states of an agent's data count as damage, and which do not."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agents.engines.hermes import HERMES
from agents.engines.pi import PI
from agents.pod.bridge import damage


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Data of hermes, which was killed while it wrote."""
    (tmp_path / "hermes").mkdir()
    with closing(sqlite3.connect(tmp_path / "state.db")) as writing:
        writing.execute("PRAGMA journal_mode=WAL")
        writing.execute("CREATE TABLE sessions (id, parent_session_id)")
        writing.execute("CREATE INDEX by_id ON sessions (id)")
        writing.executemany("INSERT INTO sessions VALUES (?, NULL)", [(f"{n:0200}",) for n in range(500)])
        writing.commit()
        for name in ("state.db", "state.db-wal"):
            (tmp_path / "hermes" / name).write_bytes((tmp_path / name).read_bytes())
    return tmp_path


def test_a_database_that_was_written_to_is_sound_and_a_broken_one_is_not(data: Path) -> None:
    assert damage.found(data, HERMES.stores) is None
    (data / "hermes" / "state.db-wal").unlink()
    with (
        closing(sqlite3.connect(data / "state.db")) as reading,
        closing(sqlite3.connect(data / "hermes" / "whole.db")) as writing,
    ):
        reading.backup(writing)
    whole = (data / "hermes" / "whole.db").read_bytes()
    for broken in (b"no database" * 1000, whole[:8192] + os.urandom(8192) + whole[16384:], whole[:20_000]):
        (data / "hermes" / "state.db").write_bytes(broken)
        found = damage.found(data, HERMES.stores)
        assert found
        assert "'state.db' is damaged" in found


def test_other_files_may_be_whatever_they_are(data: Path) -> None:
    (data / "workspace").mkdir()
    (data / "workspace" / "mine.db").write_bytes(b"SQLite format 3\0 and no more")
    (data / "hermes" / "state.db").unlink()
    (data / "hermes" / "state.db").symlink_to("/etc/passwd")
    (data / "hermes" / "state.db-wal").unlink()
    assert damage.found(data, HERMES.stores) is None


def test_a_disk_that_cannot_be_read_is_damage_and_a_right_that_is_missing_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pi" / "sessions").mkdir(parents=True)

    def fails(number: int) -> str | None:
        def scandir(path: Path) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("agents.pod.bridge.damage.os.scandir", scandir)
        return damage.found(tmp_path, PI.stores)

    assert "cannot be read (Input/output error)" in (fails(errno.EIO) or "")
    assert fails(errno.EACCES) is None
