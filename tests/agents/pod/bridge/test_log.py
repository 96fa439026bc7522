from __future__ import annotations

import asyncio
from pathlib import Path

from agents.pod.bridge import log as engine_log
from agents.pod.bridge.log import EngineLog


def test_secrets_appear_neither_in_the_evidence_nor_in_the_file(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "engine.log")
    log.hide(["swordfish", "abc"])
    log.note("password swordfish, abc")
    assert log.evidence == ["password [secret], abc"]
    assert "swordfish" not in (tmp_path / "engine.log").read_text()


def test_the_last_lines_are_kept_and_long_ones_cut(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "engine.log")
    for number in range(50):
        log.note(f"{number} " + "x" * 1000)
    assert len(log.evidence) == engine_log.KEPT_LINES
    assert log.evidence[-1].startswith("49 ")
    assert all(len(line) <= engine_log.LINE_CHARACTERS for line in log.evidence)


def test_colours_and_empty_lines_are_no_evidence(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "engine.log")
    log.note("\x1b[31mred\x1b[0m")
    log.note("   ")
    assert log.evidence == ["red"]


def test_what_the_engine_always_says_is_no_evidence(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "engine.log", noise="Warning: nothing")
    log.note("Warning: nothing to see")
    log.note("fatal: something")
    assert log.evidence == ["fatal: something"]


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "engine.log")
    (tmp_path / "engine.log").write_bytes(b"x" * (engine_log.FILE_BYTES + 1))
    log.note("new")
    assert (tmp_path / "engine.log").read_text() == "new\n"
    assert (tmp_path / "engine.log.1").exists()


def test_a_full_disk_does_not_end_the_evidence() -> None:
    log = EngineLog(Path("/dev/full"))
    log.note("still here")
    assert log.evidence == ["still here"]


def test_a_stream_is_followed_to_its_end_whatever_its_lines_look_like(tmp_path: Path) -> None:
    async def follow() -> EngineLog:
        stream = asyncio.StreamReader()
        stream.feed_data(b"one\ntw\xffo\n" + b"y" * 10_000 + b"\nlast")
        stream.feed_eof()
        log = EngineLog(tmp_path / "engine.log")
        await log.follow(stream)
        return log

    evidence = asyncio.run(follow()).evidence
    assert evidence[0] == "one"
    assert evidence[1] == "tw\ufffdo"
    assert evidence[-1] == "last"
