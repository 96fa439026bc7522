from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from agents.pod.bridge import log as engine_log
from agents.pod.bridge import log_buffer as spools
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.log_buffer import LogBuffer
from agents.pod.logs.lines import LINE_BYTES, LINE_CHARACTERS

Told = list[dict[str, Any]]


def test_secrets_do_not_appear_in_the_evidence() -> None:
    log = EngineLog()
    log.hide(["swordfish", "abc"])
    log.note("password swordfish, abc")
    assert log.evidence == ["password [secret], abc"]


def test_the_last_lines_are_kept_and_long_ones_cut() -> None:
    log = EngineLog()
    for number in range(50):
        log.note(f"{number} " + "x" * 1000)
    assert len(log.evidence) == engine_log.KEPT_LINES
    assert log.evidence[-1].startswith("49 ")
    assert all(len(line) <= engine_log.LINE_CHARACTERS for line in log.evidence)


def test_colours_and_empty_lines_are_no_evidence() -> None:
    log = EngineLog()
    log.note("\x1b[31mred\x1b[0m")
    log.note("   ")
    assert log.evidence == ["red"]


def test_what_the_engine_always_says_is_no_evidence() -> None:
    log = EngineLog(noise="Warning: nothing")
    log.note("Warning: nothing to see")
    log.note("fatal: something")
    assert log.evidence == ["fatal: something"]


def told_of(log_buffer: LogBuffer, *, life: str = "", after: int = 0) -> Told:
    """The lines that the gateway gets until the bridge has ended."""

    async def read() -> bytes:
        return b"".join([piece async for piece in log_buffer.stream(life=life, after=after)])

    log_buffer.close()
    return [json.loads(line) for line in asyncio.run(read()).splitlines() if line]


def heard(feed: Callable[[asyncio.StreamReader], None], *secrets: str) -> tuple[EngineLog, list[str]]:
    """Follow a stream with these bytes. Returns the log with its evidence, and the texts that the gateway gets."""
    log_buffer = LogBuffer()
    log = EngineLog(log_buffer)
    log.hide(secrets)

    async def follow() -> None:
        stream = asyncio.StreamReader(limit=2**20)
        feed(stream)
        stream.feed_eof()
        await log.follow(stream)

    asyncio.run(follow())
    return log, [line["x"] for line in told_of(log_buffer)]


def test_a_stream_is_followed_to_its_end_whatever_its_lines_look_like() -> None:
    log, told = heard(lambda stream: stream.feed_data(b"one\ntw\xffo\n\x00\x1b]0;title\x07three\n" + b"last"))
    assert told == log.evidence == ["one", "tw\ufffdo", "three", "last"]


def test_a_secret_in_two_writes_or_with_colours_within_is_masked() -> None:
    def feed(stream: asyncio.StreamReader) -> None:
        stream.feed_data(b"key sword")
        stream.feed_data(b"fish and sword\x1b[0mfish and sw\xe2\x80\x8bordfish\n")

    assert heard(feed, "swordfish")[1] == ["key [secret] and [secret] and [secret]"]


def test_each_line_of_a_secret_of_several_lines_is_one() -> None:
    pem = "-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END KEY-----\n"
    assert heard(lambda stream: stream.feed_data(pem.encode()), pem)[1] == ["[secret]"] * 3


def test_a_secret_across_the_place_where_a_long_line_is_cut_is_masked() -> None:
    for before in range(LINE_CHARACTERS - 12, LINE_CHARACTERS + 1):
        raw = b"x" * before + b"swordfish" + b"y" * LINE_CHARACTERS + b"\n"
        assert "sword" not in heard(partial(asyncio.StreamReader.feed_data, data=raw), "swordfish")[1][0]


def test_a_line_that_does_not_end_costs_no_memory_and_says_how_much_is_missing() -> None:
    def feed(stream: asyncio.StreamReader) -> None:
        for _ in range(200):
            stream.feed_data(b"x" * 2**16)

    tracemalloc.start()
    _log, told = heard(feed)
    assert told[0].startswith("xxxx")
    assert len(told[0]) < LINE_CHARACTERS + 100
    assert told[1] == f"{200 * 2**16 - LINE_BYTES} bytes of the line above dropped: it is too long"
    tracemalloc.stop()


def test_a_flood_is_read_as_fast_as_it_comes_and_its_last_lines_are_kept() -> None:
    """200,000 lines of about 90 bytes need less than six seconds of CPU."""
    lines = 200_000

    def feed(stream: asyncio.StreamReader) -> None:
        stream.feed_data(b"".join(b"line %d %s\n" % (number, b"x" * 80) for number in range(lines)))

    began = time.process_time()
    _log, told = heard(feed, *(f"secret-number-{number}" for number in range(10)))
    assert time.process_time() - began < 6
    assert told[-1].startswith(f"line {lines - 1} ")
    kept = [text for text in told if text.startswith("line ")]
    dropped = [int(text.split()[0]) for text in told if "lines dropped" in text]
    assert len(kept) + sum(dropped) == pytest.approx(lines, abs=20)
    assert len(kept) < 3000


def test_a_gateway_that_comes_late_is_told_what_it_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spools, "MOST_BYTES", 10 * (spools.LINE_OVERHEAD_BYTES + 10))
    log_buffer = LogBuffer()
    log = EngineLog(log_buffer)
    for number in range(20):
        log.note(f"line {number:05}")
    assert [line["x"] for line in told_of(log_buffer, life=log_buffer.life, after=5)][:2] == [
        "5 lines dropped: they came faster than they could be kept",
        "line 00010",
    ]
    assert told_of(log_buffer, life="of another bridge", after=15)[0]["x"] == "line 00010"
    assert told_of(log_buffer, life=log_buffer.life, after=10**9)[0]["x"] == "line 00010"
