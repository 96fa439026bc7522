"""Databases are copied whole while other programs write to them. A broken or too large one does not stop the others."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from agents.pod.bridge import databases
from agents.pod.removal import remove

MOST = 10**9


def database(path: Path, rows: int = 3) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [("y" * 100,)] * rows)
        connection.commit()
    return path


def rows_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(connection.execute("SELECT count(*) FROM t").fetchone()[0])


def test_databases_are_found_by_name_and_content(tmp_path: Path) -> None:
    database(tmp_path / "engine" / "state.db")
    database(tmp_path / ".agentpods" / "databases" / "state.db")
    (tmp_path / "notes.db").write_text("no database")
    (tmp_path / "link.db").symlink_to(tmp_path / "engine" / "state.db")
    os.mkfifo(tmp_path / "pipe.db")
    found = databases.look(tmp_path, own=".agentpods", most_bytes=MOST)
    assert found.databases == [Path("engine/state.db")]


def test_a_copy_is_whole_while_the_database_is_written_to(tmp_path: Path) -> None:
    source, over = database(tmp_path / "a.db", 2_000), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(source, timeout=10)) as connection:
            while not over.is_set():
                connection.execute("INSERT INTO t VALUES ('z')")
                connection.execute("INSERT INTO t VALUES ('z')")
                connection.commit()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert databases.copy(source, tmp_path / "copies" / "a.db")
    finally:
        over.set()
        writer.join()
    assert rows_of(tmp_path / "copies" / "a.db") % 2 == 0


def test_a_broken_database_has_no_copy(tmp_path: Path) -> None:
    broken = tmp_path / "a.db"
    broken.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    assert not databases.copy(broken, tmp_path / "copies" / "a.db")
    assert not (tmp_path / "copies" / "a.db").exists()


def test_a_database_that_stays_locked_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "BUSY_SECONDS", 0.2)
    source = tmp_path / "a.db"
    with closing(sqlite3.connect(source, isolation_level=None)) as holder:
        holder.execute("CREATE TABLE t (x)")
        holder.execute("BEGIN EXCLUSIVE")
        assert not databases.copy(source, tmp_path / "copies" / "a.db")


def test_a_file_that_claims_more_than_any_disk_is_too_much(tmp_path: Path) -> None:
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(10 * MOST)
    with pytest.raises(databases.TooMuch, match="claim more than"):
        databases.look(tmp_path, own=".agentpods", most_bytes=MOST)


def test_a_deep_tree_is_walked(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        assert databases.look(tmp_path, own=".agentpods", most_bytes=MOST).databases == []
    finally:
        remove(tmp_path)  # pytest cannot remove it: later runs would end with a RecursionError
