"""Tables in a page of the guide that a command writes: each stands between two markers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

PERFORMANCE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "performance.md"


class NoMarkers(ValueError):
    def __init__(self, page: Path, begin: str, end: str) -> None:
        super().__init__(f"{page} has no place for the table: {begin} and {end}, each on a line of its own")


def begin(command: str) -> str:
    return f"<!-- {command} writes this table -->"


def end(command: str) -> str:
    return f"<!-- the end of the table of {command} -->"


def write(page: Path, text: str, *, command: str) -> None:
    """Replace what is between the markers of this command."""
    first, last = begin(command), end(command)
    before, found, rest = page.read_text(encoding="utf-8").partition(first)
    _, found_end, after = rest.partition(last)
    if not found or not found_end:
        raise NoMarkers(page, first, last)
    page.write_text(f"{before}{first}\n\n{text}\n\n{last}{after}", encoding="utf-8")


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Markdown."""
    names = list(headings)
    return "\n".join([line(names), line(["---"] * len(names)), *map(line, rows)])
