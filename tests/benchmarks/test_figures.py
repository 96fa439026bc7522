"""The table that `make bench` prints."""

from __future__ import annotations

from benchmarks.figures import Figure, ratio, table


def test_a_ratio_is_the_median_of_the_rounds_so_that_one_busy_round_does_not_count() -> None:
    assert ratio([2.0, 4.0, 90.0], [1.0, 2.0, 3.0]) == 2.0


def test_each_figure_has_its_goal_its_verdict_and_what_it_was_compared_with() -> None:
    figures = [
        Figure("G4 GET /personas", 1.336, "x", "<= 2.5 x", True, "a bare view"),
        Figure("G8 buffers", 77_000, "", "<= 10", False, "no baseline"),
        Figure("G7 statements", 5, "", "<= 10", True, "no baseline"),
        Figure("G1 CPU", 7.5, "x", "<= 2.5 x", None, "a plain view " * 20),
    ]
    lines = table(figures).splitlines()
    assert lines[2].split() == ["G4", "GET", "/personas", "1.34", "x", "<=", "2.5", "x", "pass", "a", "bare", "view"]
    assert "77,000" in lines[3]
    assert "FAIL" in lines[3]
    assert lines[4].split()[2] == "5"
    assert "report" in lines[5]
    assert max(map(len, lines)) <= len(lines[1])


def test_a_benchmark_that_failed_is_in_the_table_all_the_same() -> None:
    lines = table([Figure("quota", float("nan"), "", "ends well", False, "the benchmark itself failed, see above")])
    assert "FAIL" in lines
