"""What a gateway remembers of a traced turn, for the control plane that asks for it afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from agents.pod.gateway import timings
from agents.pod.gateway.timings import MOST_PARTS, MOST_TURNS, Timings


def parent(number: int) -> str:
    return f"00-{1:032x}-{number:016x}-01"


def span(number: int) -> str:
    return f"{number:016x}"


def names(kept: Timings, number: int = 1) -> list[str]:
    return [part["name"] for part in kept.take(span(number))]


def test_the_parts_of_a_turn_are_told_once_in_their_order() -> None:
    kept = Timings()
    with kept.turn(parent(1)), kept.part("engine"), kept.model_call():
        pass
    told = kept.take(span(1))
    assert [part["name"] for part in told] == ["turn", "engine", "model call"]
    assert all(0 <= part["begin"] <= part["end"] and not part["failed"] for part in told)
    assert kept.take(span(1)) == []


@pytest.mark.parametrize("given", ["", "x" * 1_000_000, f"00-{1:032x}-{1:016x}", f"01-{1:032x}-{1:016x}-01", "00-\n"])
def test_a_turn_without_a_right_header_is_not_timed(given: str) -> None:
    kept = Timings()
    with kept.turn(given), kept.part("engine"), kept.model_call():
        pass
    assert names(kept) == []


def test_a_part_that_breaks_off_is_told_as_failed() -> None:
    kept = Timings()
    with pytest.raises(RuntimeError), kept.turn(parent(1)), kept.part("engine"):
        raise RuntimeError
    assert [part["failed"] for part in kept.take(span(1))] == [True, True]


def test_a_model_call_during_two_turns_belongs_to_none() -> None:
    kept = Timings()
    with kept.turn(parent(1)), kept.turn(parent(2)), kept.model_call():
        pass
    assert (names(kept, 1), names(kept, 2)) == (["turn"], ["turn"])


def test_a_gateway_remembers_few_turns_and_few_parts_of_each() -> None:
    kept = Timings()
    for number in range(MOST_TURNS * 2):
        with kept.turn(parent(number)):
            for _ in range(MOST_PARTS * 2):
                with kept.part("engine"):
                    pass
    told = [len(kept.take(span(number))) for number in range(MOST_TURNS * 2)]
    assert len([count for count in told if count]) <= MOST_TURNS
    assert max(told) == MOST_PARTS


def test_turns_are_forgotten_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, now = Timings(), [100.0]
    clock: Callable[[], float] = lambda: now[0]  # noqa: E731
    monkeypatch.setattr(time, "monotonic", clock)
    with kept.turn(parent(1)):
        pass
    now[0] += timings.KEPT_SECONDS + 1
    with kept.turn(parent(2)):
        pass
    assert (names(kept, 1), names(kept, 2)) == ([], ["turn"])
