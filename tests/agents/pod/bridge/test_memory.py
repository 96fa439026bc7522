"""What an engine has learned is read from files that the agent can write. No such file can harm the reader."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from agents.engines.base import EngineError, Stores
from agents.pod.bridge import memory
from tests.agents.pod.bridge.process import BridgeProcess

FILES = Stores(skills=("skills",), memories=("memories",), sessions="sessions", session_files="*.jsonl")
ROWS = Stores(
    skills=("skills",), sessions="state", session_files="state.db*", count="SELECT count(*) FROM session WHERE live"
)


def write(path: Path, content: str | bytes = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def database(path: Path, *statements: str) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    return connection


def test_skills_memories_and_sessions_are_read_by_name(tmp_path: Path) -> None:
    write(tmp_path / "skills" / "tea" / "SKILL.md")
    write(tmp_path / "skills" / "kitchen" / "bread" / "SKILL.md")
    write(tmp_path / "skills" / "no-skill" / "README.md")
    write(tmp_path / "memories" / "USER.md", "likes tea")
    write(tmp_path / "memories" / "days" / "2027-01-01.md", "it snowed")
    write(tmp_path / "memories" / "picture.png")
    for number in range(3):
        write(tmp_path / "sessions" / "--workspace--" / f"{number}.jsonl")
    found = memory.read(FILES, tmp_path)
    assert found.skills == ["bread", "tea"]
    assert found.memories == [("USER.md", "likes tea"), ("days/2027-01-01.md", "it snowed")]
    assert (found.sessions, found.is_cut) == (3, False)


def test_an_agent_that_has_learned_nothing_yet_has_an_empty_memory(tmp_path: Path) -> None:
    nothing = memory.EngineMemory(skills=[], memories=[], sessions=0, is_cut=False)
    assert memory.read(FILES, tmp_path) == nothing
    assert memory.read(ROWS, tmp_path) == nothing


def test_contents_beyond_256_kib_are_cut_and_say_by_how_much(tmp_path: Path) -> None:
    write(tmp_path / "memories" / "1.md", "a" * 200_000)
    write(tmp_path / "memories" / "2.md", "ü" * 50_000)
    write(tmp_path / "memories" / "3.md", "c")
    found = memory.read(FILES, tmp_path)
    contents = dict(found.memories)
    assert contents["1.md"] == "a" * 200_000
    kept, last = contents["2.md"].split("\n")
    assert (set(kept), len(kept)) == ({"ü"}, (256 * 1024 - 200_000) // 2)
    assert last == f"[cut: {100_000 - (256 * 1024 - 200_000)} more bytes]"
    assert contents["3.md"] == "\n[cut: 1 more bytes]"
    assert found.is_cut


def test_more_than_500_names_are_cut(tmp_path: Path) -> None:
    for number in range(501):
        write(tmp_path / "memories" / f"{number:03}.md")
        write(tmp_path / "skills" / f"{number:03}" / "SKILL.md")
    found = memory.read(FILES, tmp_path)
    assert (len(found.memories), len(found.skills), found.is_cut) == (500, 500, True)


def test_no_link_leads_out_of_the_agents_data(tmp_path: Path) -> None:
    outside, data = tmp_path / "outside", tmp_path / "data"
    write(outside / "secret.md", "secret")
    write(outside / "spy" / "SKILL.md")
    write(data / "memories" / "mine.md", "mine")
    (data / "memories" / "file.md").symlink_to(outside / "secret.md")
    (data / "memories" / "directory").symlink_to(outside)
    (data / "skills").symlink_to(outside)
    (data / "sessions").symlink_to(outside)
    found = memory.read(FILES, data)
    assert (found.memories, found.skills, found.sessions) == ([("mine.md", "mine")], [], 0)


def test_data_that_is_itself_behind_a_link_is_read(tmp_path: Path) -> None:
    write(tmp_path / "disk" / "memories" / "mine.md", "mine")
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    assert memory.read(FILES, tmp_path / "data").memories == [("mine.md", "mine")]


def test_nothing_but_plain_files_is_opened(tmp_path: Path) -> None:
    (tmp_path / "memories" / "directory.md").mkdir(parents=True)
    os.mkfifo(tmp_path / "memories" / "pipe.md")
    write(tmp_path / "memories" / "z.md", "plain")
    assert memory.read(FILES, tmp_path).memories == [("z.md", "plain")]


def test_a_file_that_becomes_a_pipe_while_it_is_read_hangs_nobody(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    os.mkfifo(path)
    assert memory._beginning(path, 10) == (b"", 0)


def test_names_and_contents_that_are_no_text_are_shown_as_well_as_they_can(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path / "memories") + b"/\xff\xfe.md"
    (tmp_path / "memories").mkdir()
    with open(odd, "wb") as file:  # noqa: PTH123  # the name is not text
        file.write(b"\x00\xffbytes")
    found = memory.read(FILES, tmp_path).memories
    assert found == [("\N{REPLACEMENT CHARACTER}" * 2 + ".md", "\x00\N{REPLACEMENT CHARACTER}bytes")]
    json.dumps(found).encode()


def test_a_deep_tree_ends(tmp_path: Path) -> None:
    deep = tmp_path / "memories"
    for _ in range(300):
        deep /= "d"
        deep.mkdir(parents=True)
    write(deep / "bottom.md")
    assert memory.read(FILES, tmp_path).memories == []


def test_sessions_that_are_rows_are_counted_while_the_engine_writes_them(tmp_path: Path) -> None:
    engine = database(
        tmp_path / "state" / "state.db",
        "PRAGMA journal_mode=WAL",
        "CREATE TABLE session (live)",
        "INSERT INTO session VALUES (1), (1), (0)",
    )
    engine.execute("BEGIN IMMEDIATE")
    engine.execute("INSERT INTO session VALUES (1)")
    assert memory.read(ROWS, tmp_path).sessions == 2
    engine.execute("COMMIT")
    assert memory.read(ROWS, tmp_path).sessions == 3
    engine.close()
    assert memory.read(ROWS, tmp_path).sessions == 3


@pytest.mark.parametrize("content", [b"no database", b"", b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_broken_database_is_said_to_be_broken(tmp_path: Path, content: bytes) -> None:
    write(tmp_path / "state" / "state.db", content)
    with pytest.raises(EngineError, match=r"^state\.db cannot be read: "):
        memory.read(ROWS, tmp_path)


def test_a_table_that_never_ends_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "COUNT_SECONDS", 0.2)
    endless = "WITH RECURSIVE n(live) AS (SELECT 1 UNION ALL SELECT live + 1 FROM n) SELECT live FROM n"
    database(tmp_path / "state" / "state.db", f"CREATE VIEW session AS {endless}").close()
    with pytest.raises(EngineError, match="interrupted"):
        memory.read(ROWS, tmp_path)


def test_a_database_that_is_a_link_is_not_opened(tmp_path: Path) -> None:
    database(tmp_path / "other.db", "CREATE TABLE session (live)", "INSERT INTO session VALUES (1)").close()
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.db").symlink_to(tmp_path / "other.db")
    assert memory.read(ROWS, tmp_path).sessions == 0


def test_files_that_go_while_they_are_read_are_no_error(tmp_path: Path) -> None:
    ended = threading.Event()

    def rage() -> None:
        while not ended.is_set():
            for number in range(20):
                write(tmp_path / "memories" / f"{number}.md")
            for number in range(20):
                (tmp_path / "memories" / f"{number}.md").unlink()

    raging = threading.Thread(target=rage)
    raging.start()
    try:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            assert all(content in {"x", ""} for _, content in memory.read(FILES, tmp_path).memories)
    finally:
        ended.set()
        raging.join()


# Through the bridge's HTTP server.


def test_the_gateway_asks_the_bridge(bridge: BridgeProcess) -> None:
    write(bridge.data / "pi" / "skills" / "tea" / "SKILL.md")
    write(bridge.data / "home" / ".agents" / "skills" / "bread" / "SKILL.md")
    assert bridge.reply("say x") == "x"
    assert bridge.status_of("GET", "/memory", token="wrong") == 401
    status, found = bridge._call("GET", "/memory")
    assert (status, found["skills"], found["memories"], found["is_cut"]) == (200, ["bread", "tea"], [], False)


def test_memory_is_read_while_the_engine_is_down(bridge: BridgeProcess) -> None:
    write(bridge.data / "pi" / "skills" / "tea" / "SKILL.md")
    bridge.kill_engine()
    bridge.wait_for("unhealthy", within=2)
    assert bridge._call("GET", "/memory")[1]["skills"] == ["tea"]
