"""What `make bench-peers` says of many creations at once."""

from __future__ import annotations

import threading

import pytest

from benchmarks.peers.creating import StartOutcome, Waited, at_once, summary

READY = [Waited(StartOutcome.READY, seconds) for seconds in (2.0, 4.0, 8.0)]


def test_the_slowest_and_the_rate_are_of_those_that_became_ready() -> None:
    figure = summary("ours", READY, cpu_ms=600)
    assert (figure.median_ms, figure.p99_ms) == (4000, 8000)
    assert figure.rate == pytest.approx(3 / 8)
    assert figure.cpu_ms == 200
    assert figure.who == "ours: none refused"


def test_those_that_were_refused_are_named_and_their_waits_do_not_count() -> None:
    figure = summary("theirs", [*READY, Waited(StartOutcome.REFUSED, 90.0)], cpu_ms=600)
    assert figure.who == "theirs: 1 refused"
    assert (figure.p99_ms, figure.cpu_ms) == (8000, 200)


@pytest.mark.parametrize("others", [[], READY])
def test_where_some_failed_their_number_takes_the_place_of_figures(others: list[Waited]) -> None:
    lost = [Waited(StartOutcome.REFUSED, 0.1), Waited(StartOutcome.FAILED, 60.0), Waited(StartOutcome.FAILED, 61.0)]
    figure = summary("theirs", [*others, *lost], cpu_ms=600)
    assert figure.who == "theirs: 1 refused, 2 failed"
    assert (figure.cpu_ms, figure.rate, figure.median_ms, figure.p99_ms) == (None, None, None, None)


def test_where_none_became_ready_there_is_no_figure() -> None:
    figure = summary("theirs", [Waited(StartOutcome.REFUSED, 0.1)], cpu_ms=600)
    assert (figure.cpu_ms, figure.rate, figure.median_ms, figure.p99_ms) == (None, None, None, None)


def test_all_starts_are_under_way_at_the_same_time() -> None:
    together = threading.Barrier(30, timeout=10)

    def start() -> StartOutcome:
        together.wait()
        return StartOutcome.READY

    assert {waited.outcome for waited in at_once([start] * 30)} == {StartOutcome.READY}
