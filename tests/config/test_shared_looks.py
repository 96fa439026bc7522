"""Many who wait for something in the database, and few looks at it."""

from __future__ import annotations

import asyncio

from django.db import OperationalError

from config.shared_looks import SharedLook


class CountedLooks:
    """What is known of each key; every look is noted."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.looks: list[list[str]] = []
        self.away = 0

    def __call__(self, keys: list[str]) -> dict[str, int]:
        self.looks.append(sorted(keys))
        if self.away:
            self.away -= 1
            raise OperationalError
        return {key: self.known[key] for key in keys if key in self.known}


def test_all_who_wait_share_each_look() -> None:
    looks = CountedLooks()
    looks.known = {"a": 1, "b": 2}
    shared = SharedLook(looks, seconds=0.01)

    async def many() -> list[int | None]:
        return await asyncio.gather(*[shared.wait(key, seconds=20) for key in "ab" * 500])

    assert asyncio.run(many()) == [1, 2] * 500
    assert looks.looks == [["a", "b"]]


def test_a_wait_ends_in_time_without_a_result_and_nobody_looks_for_it_then() -> None:
    looks = CountedLooks()
    shared = SharedLook(looks, seconds=0.01)

    async def late() -> int:
        assert await shared.wait("a", seconds=0.2) is None
        await asyncio.sleep(0.1)
        before = len(looks.looks)
        await asyncio.sleep(0.1)
        return len(looks.looks) - before

    assert asyncio.run(late()) == 0


def test_a_database_that_is_away_for_a_moment_ends_no_wait() -> None:
    looks = CountedLooks()
    looks.known, looks.away = {"a": 1}, 2
    assert asyncio.run(SharedLook(looks, seconds=0.01).wait("a", seconds=20)) == 1
    assert len(looks.looks) == 3


def test_after_a_quiet_time_the_next_who_waits_is_looked_for_again() -> None:
    looks = CountedLooks()
    shared = SharedLook(looks, seconds=0.01)

    async def twice() -> int | None:
        assert await shared.wait("a", seconds=0.1) is None
        looks.known = {"a": 1}
        return await shared.wait("a", seconds=20)

    assert asyncio.run(twice()) == 1
