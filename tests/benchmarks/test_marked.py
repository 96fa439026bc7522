"""Tables that a command writes into a page between two markers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import growth, marked
from benchmarks.marked import NoMarkers
from benchmarks.peers import rows

COMMAND = "make something"
BEGIN, END = marked.begin(COMMAND), marked.end(COMMAND)


def test_the_table_replaces_the_one_before_and_nothing_around_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n\n{BEGIN}\nold\n{END}\n\nAfter.\n")
    for text in ("first", "second"):
        marked.write(page, text, command=COMMAND)
    assert page.read_text() == f"Before.\n\n{BEGIN}\n\nsecond\n\n{END}\n\nAfter.\n"


@pytest.mark.parametrize("text", ["no markers", BEGIN, END])
def test_a_page_without_both_markers_stays_as_it_is(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(NoMarkers):
        marked.write(page, "table", command=COMMAND)
    assert page.read_text() == text


@pytest.mark.parametrize("command", [rows.COMMAND, growth.COMMAND])
def test_the_page_about_speed_has_a_place_for_the_table(tmp_path: Path, command: str) -> None:
    page = tmp_path / "page.md"
    page.write_bytes(marked.PERFORMANCE.read_bytes())
    marked.write(page, "table", command=command)
    assert f"{marked.begin(command)}\n\ntable\n\n{marked.end(command)}" in page.read_text()
