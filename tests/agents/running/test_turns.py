"""Only one caller at a time, unless that caller hangs."""

from __future__ import annotations

from agents.running.turns import OneAtATime


def test_who_comes_while_another_is_at_it_does_nothing() -> None:
    turns = OneAtATime(hold_seconds=3)
    with turns.take() as first, turns.take() as second:
        assert (first, second) == (True, False)
    with turns.take() as third:
        assert third


def test_one_that_has_had_its_time_does_not_hold_up_the_others() -> None:
    turns = OneAtATime(hold_seconds=0)
    with turns.take() as first, turns.take() as second:
        assert (first, second) == (True, True)
