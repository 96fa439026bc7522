"""The ring of a pod's log: with any cursor, no line comes twice, and missing lines are always reported."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from agents.pod.logs import log_files
from agents.pod.logs.lines import Level, LogLine, LogSource
from agents.pod.logs.log_files import LogFiles, left_in
from agents.pod.logs.reading import PAGE_BYTES


def line(number: int, *, source: LogSource = LogSource.ENGINE, text: str = "") -> LogLine:
    return LogLine(at=1_764_000_000 + number, source=source, level=Level.INFO, text=text or f"line {number}")


def texts(found: LogFiles, *, after: int | None = 0, limit: int = 1000, source: LogSource | None = None) -> list[str]:
    return [each.text for _, each in found.page(after=after, limit=limit, source=source).lines]


@pytest.fixture
def kept(tmp_path: Path) -> LogFiles:
    return LogFiles(tmp_path / "logs")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, kept: LogFiles) -> LogFiles:
    """A ring of three pieces of 500 bytes."""
    monkeypatch.setattr(log_files, "PIECE_BYTES", 500)
    monkeypatch.setattr(log_files, "KEPT_PIECES", 2)
    return kept


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
def test_page_after_page_every_line_comes_once(kept: LogFiles, limit: int) -> None:
    for number in range(30):
        kept.append([line(number)])
    found: list[str] = []
    at = 0
    while at < kept.end:
        page = kept.page(after=at, limit=limit)
        found += [each.text for _, each in page.lines]
        at = page.next
    assert found == [f"line {number}" for number in range(30)]


def test_without_a_cursor_the_newest_come_and_the_cursor_is_the_end(kept: LogFiles) -> None:
    kept.append([line(number) for number in range(30)])
    page = kept.page(after=None, limit=3)
    assert [each.text for _, each in page.lines] == ["line 27", "line 28", "line 29"]
    assert page.next == page.end == kept.end


def test_what_is_rotated_away_is_a_gap_and_what_is_kept_is_whole(small: LogFiles) -> None:
    for number in range(100):
        small.append([line(number)])
    page = small.page(after=0, limit=1000)
    assert page.gap
    last = [f"line {number}" for number in range(100)][-len(page.lines) :]
    assert [each.text for _, each in page.lines] == last
    assert 10 < len(last) < 40
    assert not small.page(after=page.lines[0][0], limit=1000).gap


@pytest.mark.parametrize("seed", range(5))
def test_any_cursor_is_answered(small: LogFiles, seed: int) -> None:
    for number in range(100):
        small.append([line(number)])
    chance = random.Random(seed)
    for after in [*(chance.randrange(small.end * 2) for _ in range(50)), small.end + 1, 10**15 - 1]:
        page = small.page(after=after, limit=5)
        assert all(each.text.startswith("line ") for _, each in page.lines)
        assert page.gap == (after > small.end or after < small.end - _size(small))


def _size(kept: LogFiles) -> int:
    base, _ = kept.tail(10**9)
    return kept.end - base


def test_a_line_that_a_kill_has_cut_is_gone_and_the_next_is_whole(kept: LogFiles, tmp_path: Path) -> None:
    kept.append([line(1), line(2)])
    (piece,) = (tmp_path / "logs").iterdir()
    with piece.open("ab") as file:
        file.write(b'{"s":"engine","t":1,"l"')
    again = LogFiles(tmp_path / "logs")
    assert (again.life, again.end) == (kept.life, kept.end)
    again.append([line(3)])
    assert texts(again) == ["line 1", "line 2", "line 3"]


def test_one_source_alone_is_found_among_many(small: LogFiles) -> None:
    for number in range(60):
        small.append([line(number, source=LogSource.BRIDGE if number % 10 == 9 else LogSource.ENGINE)])
    assert texts(small, after=None, limit=2, source=LogSource.BRIDGE) == ["line 49", "line 59"]
    page = small.page(after=0, limit=1, source=LogSource.BRIDGE)
    assert len(page.lines) == 1
    assert texts(small, after=page.next, source=LogSource.BRIDGE)[-1] == "line 59"
    assert small.page(after=0, limit=9, source=LogSource.GATEWAY).next == small.end


def test_a_page_is_bounded_in_bytes_and_never_empty(kept: LogFiles) -> None:
    kept.append([line(number, text="x" * 4000) for number in range(300)])
    page = kept.page(after=0, limit=1000)
    assert 100 < len(page.lines) < 300
    assert page.next < page.end
    assert len(kept.page(after=0, limit=1000, most_bytes=10).lines) == 1
    assert sum(len(each.text) for _, each in kept.page(after=None, limit=1000).lines) <= PAGE_BYTES


def test_what_is_left_is_read_without_the_program(kept: LogFiles, tmp_path: Path) -> None:
    assert left_in(tmp_path / "nothing") is None
    kept.append([line(number) for number in range(10)])
    left = left_in(tmp_path / "logs")
    assert left
    base, raw = log_files.tail(left.chunks, 200)
    assert left.life == kept.life
    assert base + len(raw) == kept.end
    assert raw.count(b"\n") == 200 // (len(raw) // raw.count(b"\n"))
    assert raw.startswith(b'{"s":"engine"')
