"""An account's requests wait in its own queue and do not delay other accounts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from config.serving.bodies import BodyRefused
from config.serving.turns import FairQueue

Play = Callable[[FairQueue, list[str]], Coroutine[Any, Any, None]]


def played(play: Play, *, running: int = 2, queued: int = 100) -> list[str]:
    """The names of the callers in the order in which they got in."""
    came: list[str] = []
    asyncio.run(play(FairQueue(running=running, queued=queued), came))
    return came


async def one(turns: FairQueue, came: list[str], caller: str, *, seconds: float = 5.0) -> None:
    await turns.enter(caller, seconds=seconds)
    came.append(caller)


async def asked(turns: FairQueue, came: list[str], *callers: str, seconds: float = 5.0) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(one(turns, came, caller, seconds=seconds)) for caller in callers]
    await asyncio.sleep(0)
    return tasks


async def left(turns: FairQueue, times: int) -> None:
    for _ in range(times):
        turns.leave()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def test_a_caller_alone_has_all_places() -> None:
    async def play(turns: FairQueue, came: list[str]) -> None:
        await asked(turns, came, "ann", "ann")

    assert played(play) == ["ann", "ann"]


def test_who_comes_late_is_next_after_one_of_those_who_wait() -> None:
    async def play(turns: FairQueue, came: list[str]) -> None:
        await asked(turns, came, *["flood"] * 50)
        await asked(turns, came, "bob", "cy")
        await left(turns, 5)

    assert played(play) == ["flood", "flood", "flood", "bob", "cy", "flood", "flood"]


def test_a_full_queue_takes_the_latest_of_who_has_most_waiting() -> None:
    async def play(turns: FairQueue, came: list[str]) -> None:
        flood = await asked(turns, came, *["flood"] * 6)  # two run, four wait: it is full
        await asked(turns, came, "bob")
        with pytest.raises(BodyRefused):
            await flood[-1]
        with pytest.raises(BodyRefused):
            await turns.enter("flood", seconds=5)
        await left(turns, 2)

    assert played(play, queued=4) == ["flood", "flood", "flood", "bob"]


def test_where_each_has_one_waiting_who_comes_late_is_refused() -> None:
    async def play(turns: FairQueue, came: list[str]) -> None:
        await asked(turns, came, "ann", "ann", "bob", "cy")
        with pytest.raises(BodyRefused):
            await turns.enter("dan", seconds=5)
        await left(turns, 1)
        await asked(turns, came, "dan")  # there is room again
        await left(turns, 2)

    assert played(play, queued=2) == ["ann", "ann", "bob", "cy", "dan"]


def test_who_waited_too_long_is_refused_and_takes_no_place() -> None:
    async def play(turns: FairQueue, came: list[str]) -> None:
        await asked(turns, came, "ann", "ann")
        (late,) = await asked(turns, came, "bob", seconds=0.01)
        with pytest.raises(BodyRefused) as refusal:
            await late
        assert (refusal.value.status, refusal.value.retry_after) == (503, 1)
        await left(turns, 2)
        await asked(turns, came, "cy", "cy")

    assert played(play) == ["ann", "ann", "cy", "cy"]


def test_a_place_that_was_given_to_who_left_goes_to_the_next() -> None:
    async def play(turns: FairQueue, came: list[str]) -> None:
        await asked(turns, came, "ann", "ann")
        bob, _ = await asked(turns, came, "bob", "cy")
        turns.leave()
        bob.cancel()
        await asyncio.sleep(0.01)

    assert played(play) == ["ann", "ann", "cy"]


def test_who_leaves_in_the_moment_of_its_turn_is_passed_over() -> None:
    async def play(turns: FairQueue, came: list[str]) -> None:
        await asked(turns, came, "ann", "ann")
        bob, _ = await asked(turns, came, "bob", "cy")
        bob.cancel()
        turns.leave()
        await asyncio.sleep(0.01)

    assert played(play) == ["ann", "ann", "cy"]
