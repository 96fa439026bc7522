"""The table of `make bench-peers`."""

from __future__ import annotations

from benchmarks.peers import rows
from benchmarks.peers.rows import PeerFigure

READ = PeerFigure(what="read", who="ours", cpu_ms=2.5, rate=412.6, median_ms=2.345, p99_ms=1234.5)
LIST = PeerFigure(what="list", who="ours", cpu_ms=21.04)
OTHER = PeerFigure(what="read", who="theirs", cpu_ms=9.3)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_the_rows_of_one_measure_stand_together_and_name_it_once() -> None:
    lines = rows.table([READ, LIST, OTHER]).splitlines()[2:]
    assert [cells(line)[:2] for line in lines] == [["read", "ours"], ["", "theirs"], ["list", "ours"]]


def test_a_row_says_what_one_costs_and_how_many_one_second_of_cpu_is_enough_for() -> None:
    line = rows.table([READ]).splitlines()[2]
    assert cells(line) == ["read", "ours", "2.50 ms", "400", "413", "2.35 ms", "1,234 ms", ""]


def test_a_program_at_rest_has_a_share_of_a_core_and_its_memory() -> None:
    row = PeerFigure(what="rest", who="ours", at_rest=1.234, megabytes=56.78)
    assert cells(rows.table([row]).splitlines()[2]) == ["rest", "ours", "1.23 % of a core", "", "", "", "", "56.8 MB"]


def test_long_times_are_in_seconds() -> None:
    row = PeerFigure(what="create", who="ours", median_ms=9_999, p99_ms=10_000)
    assert cells(rows.table([row]).splitlines()[2])[5:7] == ["9,999 ms", "10.0 s"]


def test_every_line_of_the_table_has_as_many_cells_as_its_head() -> None:
    assert len({len(cells(line)) for line in rows.table([READ, LIST, OTHER]).splitlines()}) == 1


def test_of_few_waits_the_p99_is_close_to_the_longest() -> None:
    assert rows.percentile_99([7.0]) == 7.0
    assert rows.percentile_99([float(wait) for wait in range(101)]) == 99.0
